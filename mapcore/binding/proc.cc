// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

std::optional<std::string> read_small_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd.valid() || !read_on(fd.get(), text, limit, path)) return std::nullopt;
  return text;
}

namespace {

std::optional<ProcessStat> read_stat(const std::string& path) {
  const auto text = read_small_file(path, 4096);
  if (!text) return std::nullopt;
  // The name may hold blanks and brackets: what counts comes after the last ')', from field 3 on.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 2 > text->size()) return std::nullopt;
  const auto fields = split(std::string_view(*text).substr(name_end + 2), ' ');
  constexpr std::size_t kState = 0, kParent = 4 - 3, kUser = 14 - 3, kSystem = 15 - 3,
                        kStart = 22 - 3, kCpu = 39 - 3;
  if (fields.size() <= kStart) return std::nullopt;
  const auto parent = parse_unsigned(fields[kParent], INT32_MAX);
  const auto start = parse_unsigned(fields[kStart]);
  if (!parent || !start) return std::nullopt;
  const auto cpu =
      fields.size() > kCpu ? parse_unsigned(fields[kCpu], CpuSet::kMaxCpu - 1) : std::nullopt;
  return ProcessStat{
      static_cast<pid_t>(*parent), *start, fields[kState] == "Z" || fields[kState] == "X",
      parse_unsigned(fields[kUser]).value_or(0) + parse_unsigned(fields[kSystem]).value_or(0),
      PuOs(cpu ? static_cast<int>(*cpu) : -1)};
}

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid, const std::string& root) {
  return read_stat(fmt::format("{}/proc/{}/stat", root, pid));
}

// /proc/TID/stat has the CPU time of the whole process, so the file below task/ is read.
std::vector<ThreadStat> in_order_of_creation(pid_t pid, std::span<const pid_t> tids,
                                             const std::string& root) {
  std::vector<ThreadStat> threads;
  for (const pid_t tid : tids) {
    const auto stat = read_stat(fmt::format("{}/proc/{}/task/{}/stat", root, pid, tid));
    threads.push_back(stat ? ThreadStat{tid, stat->start, stat->used, stat->cpu} : ThreadStat{tid});
  }
  // The main thread is the first, even if an exec in another thread gave that thread its id.
  std::sort(threads.begin(), threads.end(), [pid](const ThreadStat& a, const ThreadStat& b) {
    return std::tuple(a.tid != pid, a.start, a.tid) < std::tuple(b.tid != pid, b.start, b.tid);
  });
  return threads;
}

namespace {

// The first number behind "key" at the start of a line of a status file.
std::optional<std::uint64_t> status_number(const std::string& text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = trim_blanks(line.substr(key.size()));
    return parse_unsigned(rest.substr(0, rest.find_first_of(" \t")));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_number(pid_t pid, const char* file, std::string_view key,
                                         const std::string& root) {
  const auto text = read_small_file(fmt::format("{}/proc/{}/{}", root, pid, file));
  return text ? status_number(*text, key) : std::nullopt;
}

std::optional<std::uint64_t> read_status_number(pid_t pid, std::string_view key,
                                                const std::string& root) {
  return read_number(pid, "status", key, root);
}

}  // namespace

std::optional<uid_t> read_process_uid(pid_t pid, const std::string& root) {
  const auto uid = read_status_number(pid, "Uid:", root);
  if (!uid || *uid > UINT32_MAX) return std::nullopt;
  return static_cast<uid_t>(*uid);
}

std::optional<std::uint64_t> read_private_bytes(pid_t pid, const std::string& root) {
  auto kib = read_status_number(pid, "RssAnon:", root);
  if (!kib) kib = read_status_number(pid, "VmRSS:", root);  // before Linux 4.5
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

std::uint64_t read_huge_bytes(pid_t pid, const std::string& root) {
  return read_number(pid, "smaps_rollup", "AnonHugePages:", root).value_or(0) * 1024;
}

std::vector<pid_t> read_threads(pid_t pid, const std::string& root) {
  struct Close {
    void operator()(DIR* dir) const { closedir(dir); }
  };
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, Close> dir(opendir(fmt::format("{}/proc/{}/task", root, pid).c_str()));
  if (!dir) return threads;
  while (const dirent* entry = readdir(dir.get())) {
    if (const auto tid = parse_unsigned(entry->d_name, INT32_MAX))
      threads.push_back(static_cast<pid_t>(*tid));
  }
  return threads;
}

bool descends_from(pid_t pid, pid_t ancestor, const std::string& root) {
  constexpr int kDeepest = 64;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    if (pid == ancestor) return true;
    const auto stat = read_process_stat(pid, root);
    if (!stat) return false;
    pid = stat->parent;
  }
  return false;
}

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
    if (controllers == controller)
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

// True if CPUs were written into this cgroup or a cgroup between it and the step's. If not, the
// kernel shows the CPUs of a cgroup above: without ConstrainCores, Slurm's cgroups of version 2
// have the controller too, each with all CPUs of the machine.
bool is_confined(const std::string& mount, std::string path) {
  // .../job_5/step_0/..., from Slurm 26.05 on .../s5XAPN4G8E7K00/step_0/... as well.
  for (; path.find("/step_") != path.npos; path.resize(path.rfind('/'))) {
    const auto list = read_small_file(mount + path + "/cpuset.cpus");
    if (list && !trim_blanks(*list).empty()) return true;
  }
  return false;
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

std::optional<std::uint64_t> read_bytes(const std::string& path) {
  const auto text = read_small_file(path);
  return text ? parse_unsigned(trim_blanks(*text)) : std::nullopt;
}

// Empty if this cgroup has no limit: its files are missing, or say "max".
std::optional<std::uint64_t> room_in_cgroup(const std::string& directory) {
  std::optional<std::uint64_t> limit;
  for (const char* file : {"memory.max", "memory.high", "memory.limit_in_bytes"})
    if (const auto bytes = read_bytes(fmt::format("{}/{}", directory, file)))
      limit = std::min(limit.value_or(UINT64_MAX), *bytes);
  if (!limit) return std::nullopt;
  for (const MemoryFile& used :
       {MemoryFile{"memory.current", "inactive_file ", "file_dirty "},
        {"memory.usage_in_bytes", "total_inactive_file ", "total_dirty "}}) {
    const auto bytes = read_bytes(fmt::format("{}/{}", directory, used.name));
    if (!bytes) continue;
    const std::string stat = read_small_file(directory + "/memory.stat").value_or(std::string());
    const std::uint64_t cache = status_number(stat, used.cache).value_or(0);
    const std::uint64_t dirty = status_number(stat, used.dirty).value_or(0);
    const std::uint64_t clean = std::min(*bytes, cache - std::min(cache, dirty));
    return *limit - std::min(*limit, *bytes - clean);
  }
  return limit;
}

}  // namespace

std::optional<std::uint64_t> read_cgroup_room(pid_t pid, const std::string& root) {
  const auto place = cgroup_of(pid, "memory", root);
  if (!place) return std::nullopt;
  std::optional<std::uint64_t> least;
  std::string path = place->path;
  while (true) {
    if (const auto room = room_in_cgroup(root + place->mount + path))
      least = std::min(least.value_or(UINT64_MAX), *room);
    if (path.find('/') == std::string::npos) return least;
    path.resize(path.rfind('/'));
  }
}

std::optional<double> read_huge_share_of_cgroup(pid_t pid, const std::string& root) {
  const auto place = cgroup_of(pid, "memory", root);
  if (!place) return std::nullopt;
  std::string path = place->path;
  for (; path.find("/step_") != path.npos; path.resize(path.rfind('/'))) {
    const auto stat = read_small_file(fmt::format("{}{}{}/memory.stat", root, place->mount, path));
    if (!stat) continue;
    for (const auto& [all, huge] : {std::pair("anon ", "anon_thp "), {"rss ", "rss_huge "}}) {
      const auto bytes = status_number(*stat, all), in_huge = status_number(*stat, huge);
      if (bytes && in_huge && *bytes > 0)
        return std::min(1.0, static_cast<double>(*in_huge) / static_cast<double>(*bytes));
    }
  }
  return std::nullopt;
}

}  // namespace ondeloc
