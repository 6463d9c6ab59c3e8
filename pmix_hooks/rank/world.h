// SPDX-License-Identifier: Apache-2.0
// The world of the ranks: MPI_COMM_WORLD or, in a program that has a session in place of MPI_Init,
// the process set mpi://WORLD, which has the same ranks in the same order.
#pragma once

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

// `session`: null after MPI_Init. Sets calls.world_group, which the caller frees. False if the
// library does not tell.
bool find_world(MpiCalls& calls, void* session, int& rank, int& size);

}  // namespace ondeloc
