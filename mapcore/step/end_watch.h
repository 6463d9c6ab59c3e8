// SPDX-License-Identifier: Apache-2.0
// Tells the ends of many processes by one descriptor (epoll(7) on their pidfds). Polling all pidfds
// at every look takes longer than reading the counters of the ranks.
// Ownership: owns the epoll descriptor, not the pidfds; a pidfd that is closed is no longer
// watched. Thread safety: a value, one thread.
#pragma once

#include <vector>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class EndWatch {
 public:
  EndWatch();
  // False if the process cannot be watched: no such process, no descriptor left, or a filter of
  // system calls.
  bool add(int pidfd, int number);
  int fd() const { return epoll_.get(); }  // readable if a process has ended; -1: no epoll
  // Returns the numbers of the processes that have ended since the last call. Does not block.
  std::vector<int> take_ended();

 private:
  UniqueFd epoll_;
};

}  // namespace ondeloc
