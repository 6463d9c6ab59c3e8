// SPDX-License-Identifier: Apache-2.0
// Finds the cell of the row in which a peer of a communicator or of a window is counted: once per
// communicator and peer with public MPI calls, then one array look-up. A cell code is the cell plus
// one in the low half (0 = not yet translated) and the world rank in the high half, which only
// recording reads. The cell code of data that a rank fetches is that of the same cell in the second
// half of its row. Most communicators are the world in its order, a row or a column of it: after
// two peers the others are guessed and the guess is proved, which costs no walk through the group
// of the world. A peer off the node claims its cell here (peer_cells.h), so that a message to it
// costs as much as one inside the node; one on the node is marked there (used_cells.h).
//
// Most cells of a communicator stand in the order of their peers. The stretch of a communicator
// tells which ones of 64 neighbouring peers do, so that a message finds its cell without the cache
// line of the cell code. A peer becomes part of it when it is translated, never by a guess.
//
// Life: a Peers belongs to a communicator from its first message until the PML is told to drop
// it. Its memory is then kept for the next communicator and never given back, because
// counting.last may still point to it; a reader compares `comm`, which identifies the owner, before
// it uses anything else, and forget_comm() drops the copies that counting keeps for one thread. So
// there are as many objects as communicators were alive at once.
// Thread safety: any thread that MPI allows to send. Errors: an empty Peers (size 0), so that the
// message is not counted; if memory was missing, `no_memory` of peers_start() is called.
#pragma once

#include <atomic>
#include <cstdint>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

// Peers that are counted in cells of the same order: bit i of `known` says that peer `first` + i is
// counted in cell `cell` + i.
inline constexpr std::uint32_t kStretchPeers = 64;
struct Stretch {
  std::uint32_t first, cell;
  std::uint64_t known;
};

struct Peers {
  std::atomic<void*> comm;  // or window: no handle is both
  std::uint32_t size;
  std::uint32_t capacity;
  Peers* next;  // spare
  bool window;
  // The next translation is guessed from these: the last translated peer (high half) and its world
  // rank (low half), and the distance of the world ranks of neighbouring peers.
  std::atomic<std::uint64_t> known;
  std::atomic<std::int64_t> stride;
  // The stretch: the cell of its first peer plus one (high half; 0 = there is no stretch yet) and
  // this peer (low half), and its `known`.
  std::atomic<std::uint64_t> stretch_start, stretch_known;

  std::atomic<std::uint64_t>& cell_code(std::uint32_t peer) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[peer];
  }
};

// The local rank of each world rank. The table is the segment's or a private one; an entry is local
// rank + 1, or 0 for a rank off the node.
struct LocalTable {
  const std::atomic<std::uint32_t>* local_of_world;
  std::uint32_t world_ranks;
  std::uint32_t local_ranks;
};

// Belongs to no communicator. NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit
extern Peers no_peers;

// REQUIRES: before the first message; calls.world_group is set, and peers_stop() frees it.
// `row`: that is counted into.
void peers_start(const MpiCalls& calls, const LocalTable& table, ondeloc_cell* row,
                 void (*no_memory)());
void peers_stop();  // REQUIRES: MPI is still usable

Peers* peers_of(void* comm);
// `counted`: false makes an empty Peers.
Peers* peers_of_window(void* window, bool counted);
void peers_forget(void* comm_or_window);
std::uint64_t peers_translate(Peers* peers, void* comm, int peer);  // the cell code
Stretch stretch_of(const Peers& peers);

// The messages that were counted as sent so far. Only the cells of peers that were met are read: a
// row has more than a thousand, and watched collectives ask twice for each call.
std::uint64_t messages_sent();

std::uint64_t cell_code_of_world(int world);
// From the cell code of what is sent to a rank to that of what is fetched from it.
std::uint64_t fetched_cell_code(std::uint64_t cell_code);
// The world ranks of the first `size` ranks of a communicator, or of its remote group. False if MPI
// does not tell them.
bool world_ranks_of(void* comm, bool remote, int size, const int* ranks, int* world);

}  // namespace ondeloc
