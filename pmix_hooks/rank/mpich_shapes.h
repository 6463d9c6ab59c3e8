// SPDX-License-Identifier: Apache-2.0
// The facts about a communicator of MPICH that the model of collectives needs: its ranks, their
// nodes and the cells that they are counted in. MPI is asked at the first collective of the
// communicator. Thread safety: any thread, but a communicator that is being freed is in no call.
// Errors: null, so that the call is not counted.
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

// Forgets all that is known of the communicator whose handle lies at an address, which may be null.
// It is called twice: before the communicator is freed, so that the memory serves another one, and
// when MPI has given the handle to a new communicator, which no other thread knows yet. Delete
// callbacks run in between, inside the call that frees the communicator or the one that ends its
// last request. They may use the communicator, which is then remembered again.
void mpich_forget_comm(const void* address);

}  // namespace ondeloc
