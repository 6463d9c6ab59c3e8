// SPDX-License-Identifier: Apache-2.0
// One-sided communication of every MPI. A transfer is counted at the call that asks for it, with
// its target and bytes, because MPI libraries move the data by shared memory, kernel calls or
// network cards, below everything that can be watched. What a library sends to synchronise windows
// is counted only if it passes Open MPI's table of messages.
//
// Open MPI 4 may make messages of all transfers of a window (osc/pt2pt). They pass its table and
// are counted there, so the calls of such a window are not. The name that Open MPI gives to a new
// window tells which component serves it.
// Thread safety: any thread.
#pragma once

#include "pmix_hooks/rank/count_mode.h"
#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

enum class WindowMemory { kPrivate, kShared };

// `mode`: a rank that only counts into the segment finds the usual transfer without a call.
void one_sided_start(const MpiCalls& calls, CountMode mode);
// After a call has made a window. `window`: the address at which MPI has stored the handle.
void window_opened(const void* window, WindowMemory memory);

}  // namespace ondeloc
