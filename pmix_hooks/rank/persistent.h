// SPDX-License-Identifier: Apache-2.0
// Persistent sends: the addition of one start is remembered when the request is made. Each start is
// counted once, whether it comes from the user's MPI_Start and MPI_Startall, by name or through the
// request (request_start.h), or from Open MPI itself through the table.
// Thread safety: as MPI's: one request is in the hands of one thread at a time.
#pragma once

#include <cstddef>

#include "pmix_hooks/rank/counting.h"

namespace ondeloc {

void persistent_remember(void* request, const Addition& addition);
void persistent_forget(void* request);
Addition persistent_lookup(const void* request);  // cell code 0 if nothing is known
// The request that an argument of MPI_Request_free names, if counting is on.
void persistent_drop(open_mpi::Handle* request);

// `function`: the MPI library's own.
using Start = int (*)(void* function, std::size_t count, open_mpi::Handle* requests);

// Calls `start`. If it succeeds and no call inside it has counted the starts, counts them, and
// follows requests that the MPI library has replaced by others.
int persistent_start(std::size_t count, open_mpi::Handle* requests, Start start, void* function);

// Counts one message. REQUIRES: persistent_setup() was called.
void add_started(Addition addition);

// Chooses the kind of addition for persistent starts, as install_hooks() does for messages.
void persistent_setup(bool multiple, CountMode mode);

}  // namespace ondeloc
