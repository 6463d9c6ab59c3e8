// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/counting.h"

#include "pmix_hooks/rank/reporter.h"

namespace ondeloc {

constinit Counting counting{};
constinit ChannelWriter recording{};

namespace {

void drop(Near& near) { near.comm.store(nullptr, std::memory_order_relaxed); }

void drop_if(Near& near, const void* comm) {
  if (near.comm.load(std::memory_order_relaxed) == comm) drop(near);
}

void drop_all() {
  drop(counting.near);
  for (OtherComm& other : counting.others) drop(other.near);
}

void set(Near& near, const Peers& peers, const void* comm) {
  const Stretch stretch = stretch_of(peers);
  near.size = peers.size;
  near.first = stretch.first;
  near.cells = counting.row + stretch.cell;
  near.known = stretch.known;
  near.comm.store(comm, std::memory_order_relaxed);
}

void set_other(Peers* peers, const void* comm) {
  OtherComm& other = place_of_other(comm);
  other.codes = &peers->cell_code(0);
  set(other.near, *peers, comm);
}

void follow(Peers* peers, const void* comm) {
  const void* before = counting.near.comm.load(std::memory_order_relaxed);
  if (before != nullptr && before != comm)
    set_other(counting.last.load(std::memory_order_relaxed), before);
  drop_if(place_of_other(comm).near, comm);  // its stretch may grow now
  counting.last.store(peers, std::memory_order_release);
  counting.near_codes = &peers->cell_code(0);
  set(counting.near, *peers, comm);
}

bool has_several_threads() {
  return reporter_multiple() || counting.several.load(std::memory_order_relaxed);
}

}  // namespace

void keep_near(Peers* peers, const void* window) {
  if (!has_several_threads()) set_other(peers, window);
}

void follow_nobody() {
  drop_all();
  follow(&no_peers, nullptr);
}

void expect_several_threads() {
  counting.several.store(true, std::memory_order_relaxed);
  drop_all();
}

bool several_threads_send() {
  return counting.active.load(std::memory_order_relaxed) && has_several_threads();
}

void forget_comm(void* comm) {
  peers_forget(comm);
  // A thread may have followed the communicator while expect_several_threads() ran.
  drop_if(counting.near, comm);
  drop_if(place_of_other(comm).near, comm);
  const Peers& last = *counting.last.load(std::memory_order_relaxed);
  if (last.comm.load(std::memory_order_relaxed) != nullptr) return;
  if (has_several_threads()) return counting.last.store(&no_peers, std::memory_order_relaxed);
  follow_nobody();
}

// With one thread the followed communicator changes with the program; with several the first one
// stays, since a word that all threads keep rewriting costs more than the look-up.
Peers* other_peers(void* comm) {
  if (!counting.active.load(std::memory_order_relaxed)) return &no_peers;
  Peers* peers = peers_of(comm);
  if (!has_several_threads()) {
    follow(peers, comm);
  } else {
    Peers* none = &no_peers;
    if (counting.last.load(std::memory_order_relaxed) == none)
      counting.last.compare_exchange_strong(none, peers, std::memory_order_acq_rel);
  }
  return peers;
}

std::uint64_t translate(Peers* peers, void* comm, int peer) {
  const std::uint64_t cell_code = peers_translate(peers, comm, peer);
  const bool is_near = counting.near.comm.load(std::memory_order_relaxed) == comm;
  if (is_near && !has_several_threads()) follow(peers, comm);  // its stretch has grown
  return cell_code;
}

void notify_by_tick(std::uint64_t tick) {
  std::uint64_t seen = counting.tick_seen.load(std::memory_order_relaxed);
  if (seen == tick) return;
  if (counting.tick_seen.compare_exchange_strong(seen, tick, std::memory_order_relaxed))
    reporter_notify();
}

void notify_by_clock() { reporter_clock(); }

}  // namespace ondeloc
