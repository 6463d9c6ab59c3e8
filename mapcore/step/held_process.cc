// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/held_process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "mapcore/binding/proc.h"

namespace ondeloc {

HeldProcess::HeldProcess(pid_t pid) : fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0U))) {
  if (fd_.valid() || (errno != ENOSYS && errno != EPERM && errno != EACCES)) return;
  const auto stat = read_process_stat(pid);
  if (!stat || stat->over) return;
  pid_ = pid;
  start_ = stat->start;
}

bool HeldProcess::seen_ended() const {
  if (pid_ == 0) return false;
  const auto stat = read_process_stat(pid_);
  return !stat || stat->over || stat->start != start_;
}

}  // namespace ondeloc
