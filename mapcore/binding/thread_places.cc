// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_places.h"

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {

std::vector<pid_t> ThreadPlaces::newcomers(pid_t pid) {
  const std::vector<pid_t> alive = read_threads(pid);
  std::vector<pid_t> fresh;
  for (const pid_t tid : alive)
    if (!known_.contains(tid)) fresh.push_back(tid);
  // The kernel may give the id of an ended thread to a new one.
  known_ = {alive.begin(), alive.end()};
  std::vector<pid_t> tids;
  for (const ThreadStat& thread : in_order_of_creation(pid, fresh)) tids.push_back(thread.tid);
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
