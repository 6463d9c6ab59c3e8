// SPDX-License-Identifier: Apache-2.0
// The path that every message takes, and what it reads, on one cache line. Entered after the real
// send has succeeded; no lock, no allocation and no call unless a communicator, a peer or a derived
// type is met for which nothing is known yet, or a beat is due.
//
// A beat is the moment to tell the mapper something: in shm transport when the tick in the segment
// has changed (one load), in pmix transport when the clock, read every kClockEvery messages, says
// so: often enough that a rank which sends some hundred messages a second is heard in every
// interval, seldom enough that the coarse clock (a few ns in the vDSO) is not felt per message. One
// caller wins it.
//
// Source of the idea to count in the point-to-point layer: Open MPI's pml/monitoring (Bosilca,
// Foyer, Jeannot, Mercier, Papauré, "Online Dynamic Monitoring of MPI Communications", 2017).
#pragma once

#include <atomic>

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/peers.h"
#include "pmix_hooks/rank/recording.h"
#include "pmix_hooks/rank/type_sizes.h"
#include "pmix_hooks/rank/way.h"

namespace ondeloc {

inline constexpr std::uint32_t kClockEvery = 16;

struct alignas(64) Counting {
  open_mpi::PmlSend send;
  open_mpi::PmlIsend isend;
  ondeloc_cell* row;          // own row: local_ranks cells, then off-node
  const std::uint64_t* tick;  // the segment's, or a word that never changes
  std::atomic<std::uint64_t> tick_seen;
  std::atomic<Peers*> last;             // of the last communicator, never null
  std::atomic<std::uint32_t> messages;  // pmix transport: to space the readings of the clock
  std::atomic<bool> active;             // between attach and detach
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined
extern Counting counting;

// What a message adds: the place of its peer (peers.h; 0 = nothing) and bytes.
struct Addition {
  std::uint64_t place;
  std::uint64_t bytes;
};

[[gnu::cold, gnu::noinline]] Peers* other_peers(void* comm);
[[gnu::cold, gnu::noinline]] void beat_by_tick(std::uint64_t tick);
[[gnu::cold, gnu::noinline]] void beat_by_clock();

inline Addition addition_of(std::size_t count, void* type, int peer, void* comm) {
  Peers* peers = counting.last.load(std::memory_order_acquire);
  if (__builtin_expect(peers->comm.load(std::memory_order_acquire) != comm, 0))
    peers = other_peers(comm);
  if (__builtin_expect(static_cast<std::uint32_t>(peer) >= peers->size, 0)) return {0, 0};
  std::uint64_t place =
      peers->place(static_cast<std::uint32_t>(peer)).load(std::memory_order_relaxed);
  if (__builtin_expect(place == 0, 0)) place = peers_translate(peers, comm, peer);
  if (place == 0) __builtin_unreachable();  // a translation is never 0
  return {place, count * type_size(type)};
}

template <Way kWay>
inline void beat() {
  if constexpr (kWay == Way::kPmix) {
    const std::uint32_t n = counting.messages.load(std::memory_order_relaxed) + 1;
    counting.messages.store(n, std::memory_order_relaxed);
    if (n % kClockEvery == 0) beat_by_clock();
  } else {
    const std::uint64_t tick = __atomic_load_n(counting.tick, __ATOMIC_RELAXED);
    if (__builtin_expect(tick != counting.tick_seen.load(std::memory_order_relaxed), 0))
      beat_by_tick(tick);
  }
}

template <bool kMultiple, Way kWay>
inline void add(const Addition& what) {
  if (__builtin_expect(what.place == 0, 0)) return;
  add_message<kMultiple>(counting.row[static_cast<std::uint32_t>(what.place) - 1], what.bytes);
  if constexpr (kWay == Way::kRecord)
    record<kMultiple>(static_cast<std::uint32_t>(what.place >> 32), what.bytes);
  beat<kWay>();
}

}  // namespace ondeloc
