// SPDX-License-Identifier: Apache-2.0
// Every message takes this path, after the real send has succeeded. It takes no lock, allocates
// nothing and calls nothing, unless it meets a communicator, a peer or a derived type that is not
// known yet, or a notification is due. The usual message (one thread, the followed communicator, a
// predefined type, a peer in the stretch of its communicator, peers.h) touches two cache lines of
// ours: the first one of Counting and the cell. Another communicator, and another peer's cell code,
// is a third line. A program that sweeps over its memory between messages has to fetch each of them
// again.
//
// A notification tells the mapper the new totals. With the shm transport it is due when the tick in
// the segment has changed; a usual message looks there if it is the kClockEvery-th to its peer.
// With the pmix transport the clock, read every kClockEvery messages, says so: a rank that sends
// some hundred messages a second then notifies in every interval, and the coarse clock (a few ns in
// the vDSO) costs little per message. If several threads find it due, one of them does it.
//
// Source of the idea to count in the point-to-point layer: Open MPI's pml/monitoring (Bosilca,
// Foyer, Jeannot, Mercier, Papauré, "Online Dynamic Monitoring of MPI Communications", 2017).
#pragma once

#include <atomic>
#include <cstddef>

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/count_mode.h"
#include "pmix_hooks/rank/peers.h"
#include "pmix_hooks/rank/pointer_map.h"
#include "pmix_hooks/rank/recording.h"
#include "pmix_hooks/rank/type_sizes.h"

namespace ondeloc {

inline constexpr std::uint32_t kClockEvery = 16;

// A communicator or window and its stretch, for one thread at a time.
struct Near {
  std::atomic<const void*> comm;  // null: none
  ondeloc_cell* cells;            // that of peer `first`, and so on
  std::uint64_t known;            // bit i: peer `first` + i
  std::uint32_t first, size;      // size: number of peers
};

// A communicator that is not followed, or a window.
struct alignas(64) OtherComm {
  Near near;
  std::atomic<std::uint64_t>* codes;
};
inline constexpr int kOtherCommBits = 4;

struct alignas(64) Counting {
  open_mpi::PmlSend send;
  open_mpi::PmlIsend isend;
  // The communicator that is followed (follow()), and the last predefined type with the bytes of an
  // element; null at first.
  Near near;
  const void* near_type;
  std::uint32_t near_bytes;
  bool plain;  // one thread at a time, shm transport, no recording, no tick

  alignas(64) ondeloc_cell* row;  // own row (layout.h)
  std::atomic<std::uint64_t>* near_codes;
  const std::uint64_t* tick;  // the segment's, or a word that never changes
  std::atomic<std::uint64_t> tick_seen;
  std::atomic<Peers*> last;             // of the last communicator, never null
  std::atomic<std::uint32_t> messages;  // pmix transport: to space the readings of the clock
  std::atomic<bool> active;             // between attach and detach
  std::atomic<bool> several;            // a session may bring threads

  // Communicators that were followed before, and windows, each at the place of its hash: a program
  // that goes back and forth between a few of them pays one cache line for it.
  OtherComm others[1 << kOtherCommBits];
};
static_assert(offsetof(Counting, row) == 64 && offsetof(Counting, others) == 128);
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined
extern Counting counting;

// The addition of one message: the cell code of its peer (peers.h; 0 = nothing is added) and its
// bytes.
struct Addition {
  std::uint64_t cell_code;
  std::uint64_t bytes;
};

[[gnu::cold, gnu::noinline]] Peers* other_peers(void* comm);
[[gnu::cold, gnu::noinline]] std::uint64_t translate(Peers* peers, void* comm, int peer);
// Its handle may come back as another communicator's, or window's.
void forget_comm(void* comm);
void follow_nobody();  // until the next message
// known_cell() finds the known peers of this window, or communicator, from now on, unless several
// threads send.
void keep_near(Peers* peers, const void* window);
// Threads may send at once from now on. To be called before they start.
void expect_several_threads();
bool several_threads_send();  // false as long as nothing is counted
[[gnu::cold, gnu::noinline]] void notify_by_tick(std::uint64_t tick);
[[gnu::cold, gnu::noinline]] void notify_by_clock();

// 0: the peer is none (MPI_PROC_NULL), or nothing is counted.
inline std::uint64_t cell_code_of(int peer, void* comm) {
  Peers* peers = counting.last.load(std::memory_order_acquire);
  if (__builtin_expect(peers->comm.load(std::memory_order_acquire) != comm, 0))
    peers = other_peers(comm);
  if (__builtin_expect(static_cast<std::uint32_t>(peer) >= peers->size, 0)) return 0;
  std::uint64_t cell_code =
      peers->cell_code(static_cast<std::uint32_t>(peer)).load(std::memory_order_relaxed);
  if (__builtin_expect(cell_code == 0, 0)) cell_code = translate(peers, comm, peer);
  if (cell_code == 0) __builtin_unreachable();  // a translation is never 0
  return cell_code;
}

inline ondeloc_cell* cell_of(std::uint64_t cell_code) {
  return &counting.row[static_cast<std::uint32_t>(cell_code) - 1];
}
// Without the world rank, which only recording reads.
inline std::uint64_t code_of(const ondeloc_cell* cell) {
  return static_cast<std::uint64_t>(cell - counting.row) + 1;
}

inline OtherComm& place_of_other(const void* comm) {
  return counting.others[mixed(reinterpret_cast<std::uintptr_t>(comm)) >> (64 - kOtherCommBits)];
}

// The cell of a known peer; null if it is not known.
[[gnu::always_inline]] inline ondeloc_cell* cell_in(const Near& near,
                                                    std::atomic<std::uint64_t>* const& codes,
                                                    int peer) {
  const std::uint32_t at = static_cast<std::uint32_t>(peer) - near.first;
  if (__builtin_expect(at < kStretchPeers && (near.known >> at & 1) != 0, 1))
    return near.cells + at;
  if (static_cast<std::uint32_t>(peer) >= near.size) return nullptr;
  const std::uint64_t cell_code = codes[peer].load(std::memory_order_relaxed);
  if (__builtin_expect(cell_code == 0, 0)) return nullptr;
  return cell_of(cell_code);
}

// The cell of a known peer of a communicator that is or was followed; null if it takes a call to
// find, or if several threads send.
[[gnu::always_inline]] inline ondeloc_cell* known_cell(int peer, const void* comm) {
  if (__builtin_expect(counting.near.comm.load(std::memory_order_relaxed) == comm, 1))
    return cell_in(counting.near, counting.near_codes, peer);
  const OtherComm& other = place_of_other(comm);
  if (other.near.comm.load(std::memory_order_relaxed) != comm) return nullptr;
  return cell_in(other.near, other.codes, peer);
}

inline Addition addition_of(std::size_t count, void* type, int peer, void* comm) {
  const std::uint64_t cell_code = cell_code_of(peer, comm);
  if (__builtin_expect(cell_code == 0, 0)) return {0, 0};
  return {cell_code, count * type_size(type)};
}

template <CountMode kMode>
inline void notify_if_due() {
  if constexpr (kMode == CountMode::kPmix) {
    const std::uint32_t n = counting.messages.load(std::memory_order_relaxed) + 1;
    counting.messages.store(n, std::memory_order_relaxed);
    if (n % kClockEvery == 0) notify_by_clock();
  } else {
    const std::uint64_t tick = __atomic_load_n(counting.tick, __ATOMIC_RELAXED);
    if (__builtin_expect(tick != counting.tick_seen.load(std::memory_order_relaxed), 0))
      notify_by_tick(tick);
  }
}

template <bool kMultiple, CountMode kMode>
inline void add(const Addition& addition) {
  if (__builtin_expect(addition.cell_code == 0, 0)) return;
  add_message<kMultiple>(*cell_of(addition.cell_code), addition.bytes);
  if constexpr (kMode == CountMode::kRecord)
    record<kMultiple>(static_cast<std::uint32_t>(addition.cell_code >> 32), addition.bytes);
  notify_if_due<kMode>();
}

// An addition that takes no call of any function to find. The cell is null if there is none.
struct KnownAddition {
  ondeloc_cell* cell;
  std::uint64_t bytes;
};

[[gnu::always_inline]] inline KnownAddition known_addition(std::size_t count, const void* type,
                                                           int peer, const void* comm) {
  ondeloc_cell* cell = known_cell(peer, comm);
  if (__builtin_expect(counting.near_type != type, 0)) {
    const TypeEntry* entry = known_type(type);
    if (entry == nullptr) return {nullptr, 0};
    counting.near_type = entry->type;
    counting.near_bytes = static_cast<std::uint32_t>(entry->bytes);
  }
  return {cell, count * counting.near_bytes};
}

// One thread at a time.
[[gnu::always_inline]] inline void add_known(const KnownAddition& known) {
  add_message<false>(*known.cell, known.bytes);
  if (__builtin_expect(__atomic_load_n(&known.cell->messages, __ATOMIC_RELAXED) % kClockEvery == 0,
                       0))
    notify_if_due<CountMode::kShm>();
}

}  // namespace ondeloc
