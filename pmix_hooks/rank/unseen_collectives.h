// SPDX-License-Identifier: Apache-2.0
// Open MPI has collectives that pass by its table of messages (coll/sm, XHC,
// UCC): they move data through shared memory or the network card. Some calls in
// which a rank has to send, if they are made of messages, are watched. If the
// rank sends none, a note says so, and the data are counted as if each rank
// gave them directly to the ranks that need them (`modelled` in the report).
// Thread safety: any thread; while several threads send at once, a call can
// look like one that sends messages.
#pragma once

#include <cstdint>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

enum class DataPath {
  kNone,      // a barrier: every rank sends, but no data
  kFromRoot,  // from the root to all others
  kToRoot,    // from all others to the root
  kByFirst,   // to rank 0, and from there to all others
  kToAll,     // from every rank to every other rank
};

struct WatchedCall {
  DataPath path;
  int root;
  std::uint64_t bytes;  // for one receiver
  void* comm;
};

// `slot`: where the totals are; null: nowhere. REQUIRES: peers_start() was called.
void unseen_collectives_start(const MpiCalls& calls, ondeloc_slot* slot);
// The number of messages that this process has sent since it attached.
std::uint64_t messages_so_far();
// Reads a call from its arguments. Those of an inter-communicator need not be valid.
using ReadCall = WatchedCall (*)(void* const* words);
// After a call of a collective in which this process has sent no message. If messages had to be
// there, counts the data and returns true.
bool count_if_unseen(void* comm, ReadCall read, void* const* words);

// Adds to what a slot says about messages that no count contains, but a model.
void add_modelled(ondeloc_slot* slot, std::uint64_t bytes);

}  // namespace ondeloc
