// SPDX-License-Identifier: Apache-2.0
// Which cell of the row a peer of a communicator is counted in: translated once per communicator
// and peer with public MPI calls, then one array look-up. A place is the cell plus one in the low
// half (0 = not yet translated) and the world rank in the high half, which only recording reads.
// Most communicators are the world in its order, a row or a column of it: after two peers the
// others are guessed and the guess is proved, which costs no walk through the group of the world.
//
// Life: a Peers belongs to a communicator from its first message until the PML is told to drop
// it. Its memory is then kept for the next communicator and never given back, so that a pointer to
// it is good for ever: counting.last may still name it, and `comm`, which identifies the owner, is
// compared before anything else is believed. So there are as many as communicators were alive at
// once.
// Thread safety: any thread that MPI allows to send. Errors: an empty Peers (size 0), so that the
// message is not counted; where it was for want of memory, who started this is told.
#pragma once

#include <atomic>
#include <cstdint>

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

struct Peers {
  std::atomic<void*> comm;
  std::uint32_t size;
  std::uint32_t capacity;
  Peers* next;  // spare
  // From which the next translation is guessed: who was translated last, peer in the high half and
  // world rank in the low one, and by how much the world rank grows from peer to peer.
  std::atomic<std::uint64_t> known;
  std::atomic<std::int64_t> stride;

  std::atomic<std::uint64_t>& place(std::uint32_t peer) {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[peer];
  }
};

// What a world rank is on this node. The table is the segment's or a private one: local rank + 1,
// 0 = off the node.
struct LocalTable {
  const std::atomic<std::uint32_t>* local_of_world;
  std::uint32_t world_ranks;
  std::uint32_t local_ranks;
};

// Of no communicator. NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit
extern Peers no_peers;

// REQUIRES: before the first message.
bool peers_start(const MpiCalls& calls, const LocalTable& table, void (*no_memory)());
void peers_stop();  // REQUIRES: MPI is still usable

Peers* peers_of(void* comm);
void peers_forget(void* comm);
std::uint64_t peers_translate(Peers* peers, void* comm, int peer);  // the place

}  // namespace ondeloc
