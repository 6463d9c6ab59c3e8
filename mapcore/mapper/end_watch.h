// SPDX-License-Identifier: Apache-2.0
// One descriptor for the ends of many processes (epoll(7) on their pidfds): to poll them all at
// every look takes longer than to read what they counted.
// Ownership: owns the epoll descriptor, not the pidfds; one that is closed is watched no more.
// Thread safety: a value, one thread.
#pragma once

#include <vector>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class EndWatch {
 public:
  EndWatch();
  // False where it cannot be watched so: no such process, no descriptor left, a filter of system
  // calls.
  bool add(int pidfd, int number);
  int fd() const { return epoll_.get(); }  // readable when one has ended; -1 where there is none
  // Numbers of those that have ended since the last call. Does not block.
  std::vector<int> take_ended();

 private:
  UniqueFd epoll_;
};

}  // namespace ondeloc
