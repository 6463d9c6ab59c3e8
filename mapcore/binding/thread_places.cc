// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_places.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {

std::vector<pid_t> ThreadPlaces::newcomers(pid_t pid) {
  std::vector<std::pair<std::uint64_t, pid_t>> found;
  const std::vector<pid_t> alive = read_threads(pid);
  for (const pid_t tid : alive) {
    if (known_.contains(tid)) continue;
    // The main thread is the first, even if an exec in another thread gave that thread its id.
    const auto stat = tid == pid ? ProcessStat{} : read_process_stat(tid).value_or(ProcessStat{});
    found.emplace_back(stat.start, tid);
  }
  // The kernel may give the id of an ended thread to a new one.
  known_ = {alive.begin(), alive.end()};
  std::sort(found.begin(), found.end());
  std::vector<pid_t> tids;
  for (const auto& [start, tid] : found) tids.push_back(tid);
  return tids;
}

void ThreadPlaces::bind(pid_t tid, std::size_t number) {
  const bool has_place = number < places_.size() && !places_[number].empty();
  (void)set_affinity(tid, has_place ? places_[number] : rest_);
}

bool ThreadPlaces::look(pid_t pid) {
  const std::vector<pid_t> tids = newcomers(pid);
  for (const pid_t tid : tids) {
    const std::size_t number = next_++;
    if (number > 0) bind(tid, number);
  }
  if (!main_bound_ && (next_ > 1 || (next_ == 1 && places_.size() == 1))) {
    bind(pid, 0);
    main_bound_ = true;
  }
  return !tids.empty();
}

}  // namespace ondeloc
