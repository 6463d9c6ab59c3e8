// SPDX-License-Identifier: Apache-2.0
// Persistent and partitioned requests of the MPICH family. A request is a 32-bit integer, which a
// start does not change. Thread safety: as MPI's: one request is in the hands of one thread at a
// time, but any threads mark partitions of one request.
#pragma once

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/kept_messages.h"
#include "pmix_hooks/rank/next_function.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {

// `request`: the address at which the MPI library has stored the handle.
void mpich_remember(Word request, const Addition& addition);
void mpich_forget(Word request);

// Each start of the request counts the messages of the call again (kept_messages.h).
void mpich_remember_call(Word request, CountCall count, const Word* words);

// Calls `start` with the function of the MPI library; counts what was started.
int mpich_start(std::size_t count, void** requests, Start start, void* function);

}  // namespace ondeloc
