// SPDX-License-Identifier: Apache-2.0
// The ranks that this rank sends to in a neighbourhood collective of MPI. Thread safety: any
// thread.
#pragma once

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

void neighbours_start();

// Calls `visit(context, index, neighbour)` for each neighbour in the order of the caller's buffers;
// without a topology or memory, for none.
void each_neighbour(void* comm, int rank, void (*visit)(void* context, int index, int neighbour),
                    void* context);

}  // namespace ondeloc
