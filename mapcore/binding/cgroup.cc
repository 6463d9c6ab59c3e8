// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

struct CgroupPlace {
  std::string mount;  // where the hierarchy with the controller is mounted
  std::string path;   // of the process in it
};

// Lines are "id:controllers:path"; a controller of version 1 wins over the unified hierarchy.
std::optional<CgroupPlace> find_cgroup(const std::string& text, std::string_view controller) {
  std::optional<CgroupPlace> found;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (std::ranges::count(split(controllers, ','), controller) > 0)
      return CgroupPlace{fmt::format("/sys/fs/cgroup/{}", controller), path};
    if (controllers.empty()) found = CgroupPlace{"/sys/fs/cgroup", path};
  }
  return found;
}

// Empty if the process is gone, or if there is no such controller.
std::optional<CgroupPlace> cgroup_of(pid_t pid, std::string_view controller,
                                     const std::string& root) {
  const auto text = read_small_file(fmt::format("{}/proc/{}/cgroup", root, pid));
  return text ? find_cgroup(*text, controller) : std::nullopt;
}

// Empty if the directory has no such file or the file is empty (a cgroup without the controller).
CpuSet read_cpuset_file(const std::string& directory) {
  for (const char* file : {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"}) {
    const auto list = read_small_file(directory + "/" + file);
    auto cpus = list ? CpuSet::parse_list(trim_blanks(*list)) : Result<CpuSet>(CpuSet());
    if (cpus && !cpus->empty()) return *std::move(cpus);
  }
  return {};
}

// The paths of a cgroup and of those above it up to the step's, nearest first. None outside a step.
std::vector<std::string> paths_in_step(std::string path) {
  std::vector<std::string> paths;
  // .../job_5/step_0/..., from Slurm 26.05 on .../s5XAPN4G8E7K00/step_0/... as well.
  for (; path.find("/step_") != path.npos; path.resize(path.rfind('/'))) paths.push_back(path);
  return paths;
}

// True if CPUs were written into this cgroup or a cgroup between it and the step's. If not, the
// kernel shows the CPUs of a cgroup above: without ConstrainCores, Slurm's cgroups of version 2
// have the controller too, each with all CPUs of the machine.
bool is_confined(const std::string& mount, const std::string& path) {
  return std::ranges::any_of(paths_in_step(path), [&](const std::string& cgroup) {
    const auto list = read_small_file(mount + cgroup + "/cpuset.cpus");
    return list && !trim_blanks(*list).empty();
  });
}

}  // namespace

std::optional<StepCpuset> read_step_cpuset(pid_t pid, const std::string& root) {
  const auto place = cgroup_of(pid, "cpuset", root);
  if (!place) return std::nullopt;
  const std::string mount = root + place->mount;
  for (std::string path = place->path; path.find('/') != std::string::npos;
       path.resize(path.rfind('/'))) {
    CpuSet cpus = read_cpuset_file(mount + path);
    if (!cpus.empty()) return StepCpuset{std::move(cpus), is_confined(mount, path)};
  }
  return std::nullopt;
}

namespace {

struct MemoryFile {
  const char* name;
  const char* cache;  // key of memory.stat: the file cache that the kernel drops first
  const char* dirty;  // the part of it that the kernel has to write first
};

std::optional<std::uint64_t> read_count(const std::string& path) {
  const auto text = read_small_file(path);
  return text ? parse_unsigned(trim_blanks(*text)) : std::nullopt;
}

// Empty if this cgroup has no limit: its files are missing, or say "max".
std::optional<std::uint64_t> room_in_cgroup(const std::string& directory) {
  std::optional<std::uint64_t> limit;
  for (const char* file : {"memory.max", "memory.high", "memory.limit_in_bytes"})
    if (const auto bytes = read_count(fmt::format("{}/{}", directory, file)))
      limit = std::min(limit.value_or(UINT64_MAX), *bytes);
  if (!limit) return std::nullopt;
  for (const MemoryFile& used :
       {MemoryFile{"memory.current", "inactive_file ", "file_dirty "},
        {"memory.usage_in_bytes", "total_inactive_file ", "total_dirty "}}) {
    const auto bytes = read_count(fmt::format("{}/{}", directory, used.name));
    if (!bytes) continue;
    const std::string stat = read_small_file(directory + "/memory.stat").value_or(std::string());
    const std::uint64_t cache = status_number(stat, used.cache).value_or(0);
    const std::uint64_t dirty = status_number(stat, used.dirty).value_or(0);
    const std::uint64_t clean = std::min(*bytes, cache - std::min(cache, dirty));
    return *limit - std::min(*limit, *bytes - clean);
  }
  return limit;
}

// The CPU time in each period, in CPUs. Empty if this cgroup has no quota: its files are missing,
// or say "max" or -1.
std::optional<double> quota_of_cgroup(const std::string& directory) {
  std::optional<std::uint64_t> time, period;
  if (const auto text = read_small_file(directory + "/cpu.max")) {
    const auto words = split(trim_blanks(*text), ' ');  // "50000 100000"
    time = parse_unsigned(words.front());
    period = parse_unsigned(words.back());
  } else {
    time = read_count(directory + "/cpu.cfs_quota_us");
    period = read_count(directory + "/cpu.cfs_period_us");
  }
  if (!time || period.value_or(0) == 0) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*period);
}

// The smallest number that the cgroup and those above it tell. Empty: none tells one.
template <typename Number>
std::optional<Number> least_upward(const std::optional<CgroupPlace>& place, const std::string& root,
                                   std::optional<Number> (*of_cgroup)(const std::string&)) {
  if (!place) return std::nullopt;
  std::optional<Number> least;
  std::string path = place->path;
  while (true) {
    if (const auto number = of_cgroup(root + place->mount + path))
      least = std::min(least.value_or(*number), *number);
    if (path.find('/') == std::string::npos) return least;
    path.resize(path.rfind('/'));
  }
}

// Empty if the cgroup does not count its memory, or has none.
std::optional<double> huge_share(const std::string& memory_stat) {
  for (const auto& [all, huge] : {std::pair("anon ", "anon_thp "), {"rss ", "rss_huge "}}) {
    const auto bytes = status_number(memory_stat, all), in_huge = status_number(memory_stat, huge);
    if (bytes && in_huge && *bytes > 0)
      return std::min(1.0, static_cast<double>(*in_huge) / static_cast<double>(*bytes));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> read_cgroup_room(pid_t pid, const std::string& root) {
  return least_upward<std::uint64_t>(cgroup_of(pid, "memory", root), root, room_in_cgroup);
}

std::optional<double> read_cpu_quota(pid_t pid, const std::string& root) {
  return least_upward<double>(cgroup_of(pid, "cpu", root), root, quota_of_cgroup);
}

std::optional<double> read_huge_share_of_cgroup(pid_t pid, const std::string& root) {
  const auto place = cgroup_of(pid, "memory", root);
  if (!place) return std::nullopt;
  for (const std::string& path : paths_in_step(place->path)) {
    const auto stat = read_small_file(fmt::format("{}{}{}/memory.stat", root, place->mount, path));
    const auto share = stat ? huge_share(*stat) : std::nullopt;
    if (share) return share;
  }
  return std::nullopt;
}

}  // namespace ondeloc
