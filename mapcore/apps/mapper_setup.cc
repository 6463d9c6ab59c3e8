// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/mapper_setup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "mapcore/base/unique_fd.h"

namespace ondeloc {

void keep_freed_memory() {
  constexpr int kMostKept = 4 << 20;  // bytes
  mallopt(M_TRIM_THRESHOLD, kMostKept);
  mallopt(M_MMAP_THRESHOLD, kMostKept);
}

void ignore_job_signals() {
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGTSTP, SIGXFSZ}) {
    std::signal(signal, SIG_IGN);
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void become_first_oom_victim() {
  const UniqueFd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.valid() && write(file.get(), "1000", 4) < 0) return;
}

// Signal-driven input (F_SETOWN, F_SETSIG in fcntl(2)): closing the last write end counts as input.
// An open file description has one owner, and all processes that inherit the descriptor share it:
// without one of its own, the process that comes last would be the only one to get the signal. It
// stays open as long as the process lives.
bool end_with_step(int fd) {
  const int own = open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC);
  if (own >= 0) fd = own;
  if (fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETSIG, SIGKILL) != 0) return false;
  if (fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC) != 0) return false;
  pollfd closed{fd, 0, 0};
  if (poll(&closed, 1, 0) == 1 && (closed.revents & POLLHUP) != 0) _exit(0);
  return true;
}

}  // namespace ondeloc
