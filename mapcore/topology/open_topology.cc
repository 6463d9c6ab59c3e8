// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/open_topology.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "mapcore/base/text.h"

namespace ondeloc {

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
  CpuSet set;
  if (bitmap == nullptr) return set;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && cpu < CpuSet::kMaxCpu;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    set.set(PuOs(cpu));
  }
  return set;
}

namespace {

constexpr unsigned kLongestLoad = 60;  // seconds; large files take a tenth of one

// hwloc prints to stderr when a synthetic string or an XML file is bad; the error is ours to tell.
void keep_hwloc_quiet() {
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  setenv("HWLOC_SYNTHETIC_VERBOSE", "0", 0);
}

// hwloc follows pointers that it did not find in an XML file: a damaged one is loaded by a child
// first. Where there is none the file is taken as sound. Returns why it is not, or "".
std::string trouble_with(hwloc_topology_t topology) {
  std::signal(SIGCHLD, SIG_DFL);  // an ignored one would hide how the child ended
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGALRM}) std::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(kLongestLoad);
    (void)hwloc_topology_load(topology);
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {};
  }
  if (child <= 0 || !WIFSIGNALED(status)) return {};
  if (WTERMSIG(status) == SIGALRM)
    return fmt::format("hwloc did not load this file in {} s; try again", kLongestLoad);
  return "hwloc crashes on this file, so the file is damaged";
}

// Multiplies the counts of a synthetic string: 8 for "[numa(...)] core:4(...) pu:2". hwloc refuses
// words that are not counts. All products above kMaxCpu give the same result.
std::uint64_t pus_of_synthetic(const std::string& text) {
  std::string counts;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    counts += depth == 0 && c != ')' && c != ']' ? c : ' ';
  }
  constexpr std::uint64_t kTooMany = CpuSet::kMaxCpu + 1;
  std::uint64_t pus = 1;
  for (const std::string_view level : split(counts, ' ')) {
    const std::string text_of_count(level.substr(level.rfind(':') + 1));
    if (text_of_count.starts_with('-')) continue;  // a large number to strtoul
    const auto count = std::strtoul(text_of_count.c_str(), nullptr, 0);  // as hwloc reads it
    if (count > 0) pus = std::min(pus * std::min(count, kTooMany), kTooMany);
  }
  return pus;
}

}  // namespace

Result<Topology> open_topology(const std::string& source) {
  keep_hwloc_quiet();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Error::from_errno("hwloc");
  Topology topology(raw);
  // Without DONT_CHANGE_BINDING hwloc binds itself to every CPU in turn (cpuid of its x86 back
  // end), where it waits for the rank that runs there and delays it. Linux says in /sys what is
  // needed. If HWLOC_XMLFILE has a file of this machine, the CPUs that this process may use are
  // those of its cgroup nevertheless.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED |
                                    HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                    HWLOC_TOPOLOGY_FLAG_THISSYSTEM_ALLOWED_RESOURCES);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  const bool is_host = source.empty() || source == "host";
  // On the host hwloc would search for devices itself, which can take seconds.
  hwloc_topology_set_io_types_filter(
      raw, is_host ? HWLOC_TYPE_FILTER_KEEP_NONE : HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  const bool is_file = !is_host && access(source.c_str(), F_OK) == 0;
  if (!is_host) {
    if ((is_file && access(source.c_str(), R_OK) != 0) || (!is_file && errno == EACCES))
      return Error::from_errno(fmt::format("topology '{}' cannot be read", shorten_path(source)));
    // hwloc would take minutes for what is refused then.
    if (!is_file && pus_of_synthetic(source) > CpuSet::kMaxCpu)
      return Error(fmt::format("topology '{}': more CPUs than the {} that ondeloc knows",
                               shorten_path(source), CpuSet::kMaxCpu));
    const int rc = is_file ? hwloc_topology_set_xml(raw, source.c_str())
                           : hwloc_topology_set_synthetic(raw, source.c_str());
    if (rc != 0) {
      return Error(fmt::format(
          "topology '{}': {}", shorten_path(source),
          is_file
              ? "not an hwloc XML file"
              : "no such file, and not an hwloc synthetic string such as 'numa:2 core:4 pu:1'"));
    }
  }
  if (const std::string trouble = is_file ? trouble_with(raw) : ""; !trouble.empty())
    return Error(fmt::format("topology '{}': {}", shorten_path(source), trouble));
  if (hwloc_topology_load(raw) != 0) {
    return Error(fmt::format("topology '{}': hwloc cannot load it",
                             is_host ? "host" : shorten_path(source)));
  }
  if (is_host && hwloc_topology_is_thissystem(raw) == 0)
    return Error(
        "topology 'host': HWLOC_XMLFILE or another variable of hwloc names another machine; unset "
        "it, set HWLOC_THISSYSTEM=1 if its file is of this machine, or name the file with "
        "--topology");
  return topology;
}

}  // namespace ondeloc
