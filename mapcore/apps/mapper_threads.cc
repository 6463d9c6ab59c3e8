// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/mapper_threads.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "mapcore/apps/mapper_setup.h"
#include "mapcore/mapper/follow_threads.h"

namespace ondeloc {
namespace {

[[noreturn]] void run_follower(pid_t pid, const HeldProcess& task, ThreadPlaces places,
                               int kill_switch) {
  // The plugin waits for the end of the caller's standard error.
  dup2(STDOUT_FILENO, STDERR_FILENO);
  setpgid(0, 0);
  ignore_job_signals();
  if (kill_switch >= 0) end_with_step(kill_switch);
  prctl(PR_SET_NAME, "ondeloc-threads");
  try {
    follow_threads(pid, task, std::move(places));
  } catch (const std::exception&) {  // no memory: the threads stay where they are
  }
  _exit(0);
}

}  // namespace

Status start_thread_follower(pid_t pid, ThreadPlaces places, int kill_switch) {
  const HeldProcess task(pid);
  if (!task.valid()) return Error::from_errno("the task cannot be followed");
  const pid_t child = fork();
  if (child == 0) run_follower(pid, task, std::move(places), kill_switch);
  if (child < 0) return Error::from_errno("fork");
  return {};
}

}  // namespace ondeloc
