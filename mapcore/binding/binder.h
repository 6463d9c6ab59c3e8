// SPDX-License-Identifier: Apache-2.0
// Moves a running process from one slot to another: every thread, each keeping its relative place.
//
// A thread whose mask was the whole old slot gets the whole new slot; one whose mask was part of it
// gets the PUs at the same positions (in ascending order of CPU, modulo the size of the new slot);
// one with a mask of its own outside the old slot is left alone and counted. Threads are read again
// until no new one appears. Thread safety: one binder per process moved at a time. Nothing here is
// fatal: failures are counted.
#pragma once

#include <sys/types.h>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct BindResult {
  int threads = 0;     // threads seen
  int moved = 0;       // masks set
  int left_alone = 0;  // threads with a mask of their own outside the old slot
  int failed = 0;      // EPERM, EINVAL; a thread that ended meanwhile does not count
  int error = 0;       // errno of the last failure
};

BindResult move_process(pid_t pid, const CpuSet& from, const CpuSet& to);

// The mask of a thread after its process moved; empty: leave it alone.
CpuSet relocate_mask(const CpuSet& mask, const CpuSet& from, const CpuSet& to);

// The old slot of a process that was bound to `bound`, after its cpuset became `cpuset`; `main` is
// the mask of its main thread now. From Linux 6.2 on each thread keeps what is left of its own
// mask; before, and where nothing is left, the kernel gives it the whole cpuset.
CpuSet left_of_slot(const CpuSet& bound, const CpuSet& cpuset, const CpuSet& main);

}  // namespace ondeloc
