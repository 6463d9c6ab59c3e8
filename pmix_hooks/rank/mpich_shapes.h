// SPDX-License-Identifier: Apache-2.0
// The facts about a communicator of MPICH that the model of collectives needs: its ranks, their
// nodes and the cells that they are counted in. MPI is asked at the first collective of the
// communicator, and the facts are forgotten when it is freed. Thread safety: any thread, but a
// communicator that is being freed is in no call. Errors: null, so that the call is not counted.
#pragma once

#include "pmix_hooks/mpich_model/group.h"
#include "pmix_hooks/rank/peers.h"

namespace ondeloc {

struct Shape {
  mpich_model::Communicator communicator;
  std::uint64_t* places;         // of each rank: its cell code, or only its world rank so far
  std::uint64_t* remote_places;  // of each rank of the remote group
  std::size_t bytes;             // of this object and its arrays
};

void shapes_start(const MpiCalls& calls, void (*no_memory)());
const Shape* shape_of(void* comm);
void shape_forget(void* comm);

}  // namespace ondeloc
