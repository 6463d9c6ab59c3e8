// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/counting.h"

#include "pmix_hooks/rank/reporter.h"

namespace ondeloc {

constinit Counting counting{};
constinit ChannelWriter recording{};

// With one thread the last communicator follows the program; with several the first one stays,
// since a word that all threads keep rewriting costs more than the look-up.
Peers* other_peers(void* comm) {
  if (!counting.active.load(std::memory_order_relaxed)) return &no_peers;
  Peers* peers = peers_of(comm);
  if (!reporter_multiple()) {
    counting.last.store(peers, std::memory_order_release);
  } else {
    Peers* none = &no_peers;
    if (counting.last.load(std::memory_order_relaxed) == none)
      counting.last.compare_exchange_strong(none, peers, std::memory_order_acq_rel);
  }
  return peers;
}

void notify_by_tick(std::uint64_t tick) {
  std::uint64_t seen = counting.tick_seen.load(std::memory_order_relaxed);
  if (seen == tick) return;
  if (counting.tick_seen.compare_exchange_strong(seen, tick, std::memory_order_relaxed))
    reporter_notify();
}

void notify_by_clock() { reporter_clock(); }

}  // namespace ondeloc
