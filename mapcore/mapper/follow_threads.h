// SPDX-License-Identifier: Apache-2.0
// static:FILE with lines for threads: binds the threads of one task as they appear, until the task
// ends. Without MPI nothing tells when a program creates a thread, so the follower looks: every few
// milliseconds while threads appear, ten times a second later.
#pragma once

#include <sys/types.h>

#include "mapcore/binding/thread_places.h"
#include "mapcore/step/held_process.h"

namespace ondeloc {

// Returns when the process `pid`, which is `task`, has ended. Blocks; allocates a little.
void follow_threads(pid_t pid, const HeldProcess& task, ThreadPlaces places);

}  // namespace ondeloc
