// SPDX-License-Identifier: Apache-2.0
// Collectives of Open MPI that do not pass its table of messages: coll/sm, XHC, UCC and others move
// the data through shared memory or the network card. No name tells which component serves a call,
// but in some calls every algorithm that is made of messages sends one from this rank. If none is
// sent, a note says that collectives are not counted.
// Thread safety: any thread. If other threads send at the same time, a call may go unnoticed.
#pragma once

#include <cstdint>

#include "mapcore/segment/peer_cells.h"

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

// `off_node`: of the row that is counted into.
void unseen_collectives_start(const MpiCalls& calls, std::uint32_t local_ranks,
                              const PeerCells& off_node);
// The number of messages that this process has sent since it attached.
std::uint64_t messages_so_far();
// After a collective in which the rank `root`, or if that is negative every rank, has something to
// send if there are at least two ranks.
void collective_was_watched(void* comm, int root, std::uint64_t messages);

}  // namespace ondeloc
