// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <tuple>

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

}  // namespace ondeloc
