// SPDX-License-Identifier: Apache-2.0
// Persistent sends: what one start of a request adds, remembered when the request is made. Counted
// once per start, wherever the start comes from: the user's MPI_Start and MPI_Startall, or a
// start that Open MPI makes itself through the table.
// Thread safety: as MPI's: one request is in the hands of one thread at a time.
#pragma once

#include <cstddef>

#include "pmix_hooks/rank/counting.h"

namespace ondeloc {

void persistent_remember(void* request, const Addition& what);
void persistent_forget(void* request);
// The request that an argument of MPI_Request_free names, if counting is on.
void persistent_drop(open_mpi::Handle* request);

// `function`: the MPI library's own.
using Start = int (*)(void* function, std::size_t count, open_mpi::Handle* requests);

// Calls `start`, counts what it started if it succeeded and no call inside it has counted that, and
// follows requests that it replaced by others.
int persistent_start(std::size_t count, open_mpi::Handle* requests, Start start, void* function);

// Counts one message. REQUIRES: persistent_setup() was called.
void add_started(const Addition& what);

// Which kind of addition persistent starts make, as install_hooks().
void persistent_setup(bool multiple, Way way);

}  // namespace ondeloc
