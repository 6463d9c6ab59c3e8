// SPDX-License-Identifier: Apache-2.0
// Holds a process that may end at any time, so that its pid is never taken for that of another
// process: by a pidfd (pidfd_open(2)), on which poll(2) tells the end. Without pidfds (Linux before
// 5.3, or a filter of system calls) the start time in /proc is compared when somebody asks.
// Ownership: owns the pidfd. Thread safety: a value, one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

class HeldProcess {
 public:
  HeldProcess() = default;
  explicit HeldProcess(pid_t pid);
  // False if there is no such process or no file descriptor left.
  bool valid() const { return fd_.valid() || pid_ != 0; }
  int fd() const { return fd_.get(); }  // -1 without a pidfd, which poll(2) passes over
  bool seen_ended() const;              // always false with a pidfd

 private:
  UniqueFd fd_;
  pid_t pid_ = 0;  // without a pidfd
  std::uint64_t start_ = 0;
};

}  // namespace ondeloc
