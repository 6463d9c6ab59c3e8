// SPDX-License-Identifier: Apache-2.0
// Open MPI's MPI_Start and MPI_Startall call the function that stands in the request. If our
// function stands there, starts are counted that reach MPI_Start past this library (dlsym on the
// library's handle: Julia, ctypes). Calls by name reach it too, and are counted once
// (innermost_call.h).
//
// Only requests that a program made by MPI_Send_init and its kin get our function. Open MPI makes
// others for collectives, which it starts through its table, and for partitioned sends, which are
// counted at MPI_Pready.
//
// Source: ompi/request/request.h and ompi/mpi/c/start.c at v4.1.4, v5.0.9 and branch v6.0.x.
// Thread safety: setup before all other calls; then one request is in the hands of one thread.
// Errors: a request that does not contain `real` is left as it is.
#pragma once

#include "pmix_hooks/open_mpi_facts.h"

namespace ondeloc {

// `real`: the function that stands in a new request. `ours` takes its place.
void request_start_setup(open_mpi::PmlStart real, open_mpi::PmlStart ours);

// A request that isend_init has made. `caller`: the code that called it, which tells whether the
// program wanted the request. If not, and it was the program's before, it gets `real` back.
void watch_new_request(void* request, const void* caller);

// A request that a start has put in place of a watched one.
void watch_request(void* request);

}  // namespace ondeloc
