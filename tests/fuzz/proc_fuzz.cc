// SPDX-License-Identifier: Apache-2.0
// Parses the files of a rank in /proc, and those of the step's cgroup. The first byte chooses: 'm'
// numa_maps, a zero byte, maps; 'i' a node's meminfo; 's' stat; 'u' status; 'c' cgroup, a zero
// byte, the CPUs of the cgroup /a/step_0; 'e' an environment, two zero bytes, that of the task.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "mapcore/binding/cgroup.h"
#include "mapcore/binding/memory.h"
#include "mapcore/binding/page_sample.h"
#include "mapcore/binding/pages.h"
#include "mapcore/binding/proc.h"
#include "mapcore/step/rank_identity.h"

namespace {

constexpr pid_t kPid = 7;

// A file tree in memory that vanishes with the process.
class Tree {
 public:
  Tree() : root_(fmt::format("/dev/shm/ondeloc-proc-fuzz-{}", getpid())) {
    std::filesystem::create_directories(root_ + "/proc/7");
    std::filesystem::create_directories(root_ + kCgroup);
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  const std::string& root() const { return root_; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(root_ + name, std::ios::binary) << text;
  }
  static constexpr const char* kCgroup = "/sys/fs/cgroup/a/step_0";

 private:
  std::string root_;
};

void check_ranges(std::string_view numa_maps, std::string_view maps) {
  const auto own = ondeloc::own_ranges(maps);
  for (const ondeloc::AddressRange& range : own)
    if (range.begin >= range.end || range.end > std::uint64_t{1} << 63) std::abort();
  if (ondeloc::spread_addresses(own, 4096, 8).size() > 8) std::abort();
  for (const int node : {0, 1, 1023}) {
    const auto ranges = ondeloc::pages_on_node(numa_maps, maps, node).ranges;
    for (const ondeloc::PageRange& range : ranges) {
      const bool sane = range.begin < range.end && range.end <= std::uint64_t{1} << 63 &&
                        range.on_node > 0 && range.on_node <= range.end - range.begin;
      if (!sane) std::abort();
    }
    (void)ondeloc::is_sparse(ranges);
  }
}

void check_cgroup(const Tree& tree, std::string_view cgroup, std::string_view in_cgroup) {
  tree.write("/proc/7/cgroup", cgroup);
  for (const char* file : {"cpuset.cpus.effective", "memory.stat"})
    tree.write(fmt::format("{}/{}", Tree::kCgroup, file), in_cgroup);
  const auto step = ondeloc::read_step_cpuset(kPid, tree.root());
  if (step && step->cpus.empty()) std::abort();
  const auto huge = ondeloc::read_huge_share_of_cgroup(kPid, tree.root());
  if (huge && !(*huge >= 0 && *huge <= 1)) std::abort();
}

void check_environments(std::string_view text) {
  const std::size_t end = std::min(text.find(std::string_view("\0\0", 2)), text.size());
  const std::string_view task = text.substr(std::min(end + 2, text.size()));
  const bool is_same = ondeloc::name_same_rank(text.substr(0, end), task);
  if (is_same != ondeloc::name_same_rank(task, text.substr(0, end))) std::abort();
  if (is_same && task.find("SLURM_STEP_ID=") == task.npos) std::abort();
}

void check(const Tree& tree, char kind, std::string_view text) {
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const std::string_view first = text.substr(0, zero);
  const std::string_view second = text.substr(std::min(zero + 1, text.size()));
  switch (kind) {
    case 'm':
      return check_ranges(first, second);
    case 'i':
      (void)ondeloc::room_in_meminfo(text);
      return;
    case 's':
      tree.write("/proc/7/stat", text);
      if (const auto stat = ondeloc::read_process_stat(kPid, tree.root()); stat && stat->parent < 0)
        std::abort();
      (void)ondeloc::descends_from(kPid, 1, tree.root());
      return;
    case 'u':
      tree.write("/proc/7/status", text);
      (void)ondeloc::read_process_uid(kPid, tree.root());
      (void)ondeloc::read_private_bytes(kPid, tree.root());
      tree.write("/proc/7/smaps_rollup", text);
      (void)ondeloc::read_huge_bytes(kPid, tree.root());
      return;
    case 'e':
      return check_environments(text);
    default:
      return check_cgroup(tree, first, second);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tree tree;
  if (size == 0) return 0;
  check(tree, static_cast<char>(data[0]), {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
