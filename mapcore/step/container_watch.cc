// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/container_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

// A container may take seconds to start, and a look reads some files of /proc: often at first, then
// rarely.
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr auto kLongPause = std::chrono::seconds(5);
constexpr int kQuickLooks = 100;
constexpr std::size_t kMostProcesses = 64;

// Text of a link in /proc, empty if it cannot be read.
std::string link_of(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::read_symlink(path, unknown).string();
}

void add_children(pid_t pid, std::vector<pid_t>& processes) {
  for (const pid_t thread : read_threads(pid)) {
    const auto text = read_small_file(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!text) continue;
    for (const std::string_view word : split(*text, ' ')) {
      const auto child = parse_unsigned(trim_blanks(word), INT32_MAX);
      if (child && processes.size() < kMostProcesses)
        processes.push_back(static_cast<pid_t>(*child));
    }
  }
}

bool lacks(pid_t pid, const std::string& path) {
  struct stat info {};
  const std::string root = fmt::format("/proc/{}/root", pid);
  // The root itself must be open to the caller: else nothing is known about what lies below it.
  if (::stat((root + "/").c_str(), &info) != 0) return false;
  return ::stat((root + path).c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace

pid_t process_without(const std::string& path, pid_t task) {
  const std::string own = link_of("/proc/self/ns/mnt");
  std::vector<pid_t> processes{task};
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const pid_t pid = processes[i];
    const std::string space = link_of(fmt::format("/proc/{}/ns/mnt", pid));
    if (!space.empty() && space != own && lacks(pid, path)) return pid;
    add_children(pid, processes);
  }
  return 0;
}

std::optional<ContainerWatch::Suspect> ContainerWatch::suspect_of(const Ranks& ranks) const {
  for (const LocalRank rank : ranks.ids()) {
    const RankState& state = ranks.at(rank);
    if (!state.ready || state.attached() || state.ended) continue;
    const pid_t pid = process_without(library_, state.task);
    if (pid == 0) return {};
    return Suspect{rank, pid, link_of(fmt::format("/proc/{}/exe", pid))};
  }
  return {};
}

void ContainerWatch::look(const Ranks& ranks) {
  if (library_.empty() || found_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < looked_ + (looks_ < kQuickLooks ? kPause : kLongPause)) return;
  looked_ = now;
  ++looks_;
  auto suspect = suspect_of(ranks);
  if (suspect && suspect == before_) found_ = suspect;
  before_ = std::move(suspect);
}

std::optional<std::string> ContainerWatch::sentence(const Ranks& ranks) const {
  if (!found_ || ranks.at(found_->rank).attached()) return {};
  const std::string folder = std::filesystem::path(library_).parent_path().string();
  return fmt::format(
      "the container of rank {} lacks {}: not counted; mount it (ondeloc site --containers) or use "
      "--ondeloc=off",
      ranks.at(found_->rank).world.value, folder);
}

}  // namespace ondeloc
