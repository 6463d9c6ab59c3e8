// SPDX-License-Identifier: Apache-2.0
// The order in which masks of running threads change, so that threads which exchange their CPUs
// share one for some system calls only.
//
// Linux lets the caller sleep while it moves a thread that runs (affine_move_task() in
// kernel/sched/core.c). To go on, the caller needs a CPU: if its own is busy with a rank, the
// caller waits for a slice, 3 ms on 8 CPUs, while the rank that it has just moved shares a CPU with
// the one that has yet to go. So the caller stays on a CPU that the first changes free, and nobody
// comes there before the last ones. Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <span>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct MaskChange {
  pid_t tid = 0;
  CpuSet from, to;
  std::size_t process = 0;  // position of the process in the caller's list
};

// Orders the changes and returns the CPU for the caller. This is `here`, the CPU on which the
// caller runs, if a change frees it, else the first one that a change frees. -1 if no change does.
int order_changes(std::span<MaskChange> changes, int here);

}  // namespace ondeloc
