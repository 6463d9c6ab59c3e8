// SPDX-License-Identifier: Apache-2.0
// The process that ondeloc-mapper leaves behind for a task whose threads have lines in the rankfile
// of static:FILE. It belongs to the user and ends with the task, or with the step at the latest.
#pragma once

#include <sys/types.h>

#include "mapcore/base/result.h"
#include "mapcore/binding/thread_places.h"

namespace ondeloc {

// Forks; the caller goes on. Call it while the task `pid` waits for the caller, so that the pid is
// certainly that of the task. The child has its own process group, ignores the signals of the job
// and holds no descriptor of the caller but its standard input and output and `kill_switch`, by
// which it ends with the step (-1: it does not). Error: the system has no process or descriptor
// left, or the task is gone.
Status start_thread_follower(pid_t pid, ThreadPlaces places, int kill_switch);

}  // namespace ondeloc
