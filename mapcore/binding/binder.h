// SPDX-License-Identifier: Apache-2.0
// Moves running processes from one slot to another: every thread, each keeps its relative place.
//
// A thread whose mask was the whole old slot gets the whole new slot. A thread whose mask was part
// of the old slot gets the PUs at the same positions (in ascending order of CPU, modulo the size of
// the new slot). A thread with a mask of its own outside the old slot is left alone and counted.
// Threads are read again until no new thread appears. Thread safety: one binder per process moved
// at a time. Nothing here is fatal: failures are counted.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct BindResult {
  int threads = 0;     // threads seen
  int moved = 0;       // masks set
  int left_alone = 0;  // threads with a mask of their own outside the old slot
  int failed = 0;      // EPERM, EINVAL; a thread that ended meanwhile does not count
  int error = 0;       // errno of the last failure
};

struct ProcessMove {
  pid_t pid = 0;
  CpuSet from, to;  // nothing is done if `to` is empty
  // After the cpuset of the process changed: the whole cpuset, which the kernel gives a thread if
  // none of its own CPUs is left. Such threads move as well. Else empty.
  CpuSet widened = {};
};

// The masks of all processes are read first and then set back to back, in the order of move_order.h:
// processes that exchange their slots share CPUs for some system calls, much shorter than a
// scheduling tick. Meanwhile the calling thread stays on one CPU; afterwards it has its mask again.
// One result for each move.
std::vector<BindResult> move_processes(std::span<const ProcessMove> moves);
BindResult move_process(pid_t pid, const CpuSet& from, const CpuSet& to);

// The mask of a thread after its process moved; empty: leave it alone.
CpuSet relocate_mask(const CpuSet& mask, const CpuSet& from, const CpuSet& to);

// The old slot of a process that was bound to `bound`, after its cpuset became `cpuset`; `main` is
// the mask of its main thread now. Since Linux 6.2 each thread keeps what is left of its own mask.
// Older kernels give the thread the whole cpuset, as every kernel does if nothing is left.
CpuSet left_of_slot(const CpuSet& bound, const CpuSet& cpuset, const CpuSet& main);

}  // namespace ondeloc
