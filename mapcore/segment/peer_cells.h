// SPDX-License-Identifier: Apache-2.0
// The part of a row that counts what a rank sent to, and fetched from, single ranks of other nodes:
// an open addressing table with world ranks as keys and two cells for each (layout.h). Lies behind
// the two halves of the row. A rank claims an entry once for each peer, never while a known peer is
// counted. An entry is never given back. A peer that finds no free entry near its place is counted
// in the off-node cell of the half, so that both together are exact. If the world has at most
// ONDELOC_PEER_CELLS_MAX ranks, every peer has an entry.
//
// Thread safety: all functions, from any number of processes. Reads are relaxed. Nothing here
// allocates or fails. Other processes of the user may write anything into the table.
#pragma once

#include <cstdint>

#include "mapcore/segment/header_check.h"
#include "mapcore/segment/layout.h"

namespace ondeloc {

struct PeerCells {
  ondeloc_cell* sent = nullptr;
  ondeloc_cell* fetched = nullptr;
  std::uint32_t* keys = nullptr;  // world rank + 1; 0: free
  std::uint32_t count = 0;        // 0, or a power of 2

  // Returns the index of a peer's entry, or `count` if the table has no place for it.
  std::uint32_t claim(std::uint32_t world) const;

  // Calls visit(world rank, index) for each entry that is in use.
  template <class Visit>
  void each(Visit visit) const {
    for (std::uint32_t i = 0; i < count; ++i)
      if (const std::uint32_t key = __atomic_load_n(&keys[i], __ATOMIC_RELAXED); key != 0)
        visit(key - 1, i);
  }
};

// REQUIRES: `row` is a row of a step of these sizes (layout.h).
inline PeerCells peer_cells_of(ondeloc_cell* row, std::uint32_t local_ranks,
                               std::uint32_t world_ranks) {
  PeerCells cells;
  cells.count = ondeloc_peer_cells(local_ranks, world_ranks);
  cells.sent = row + 2 * (std::uint64_t{local_ranks} + 1);
  cells.fetched = cells.sent + cells.count;
  cells.keys = reinterpret_cast<std::uint32_t*>(cells.fetched + cells.count);
  return cells;
}

// Bounds the time of a peer that finds no entry: modelled collectives ask for each of its messages.
inline constexpr std::uint32_t kMostProbes = 64;

inline std::uint32_t PeerCells::claim(std::uint32_t world) const {
  for (std::uint32_t probe = 0; probe < count && probe < kMostProbes; ++probe) {
    const std::uint32_t at = (world + probe) & (count - 1);
    std::uint32_t key = __atomic_load_n(&keys[at], __ATOMIC_RELAXED);
    // A key that another thread has just written may be the one looked for.
    if (key == 0 && __atomic_compare_exchange_n(&keys[at], &key, world + 1, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED))
      return at;
    if (key == world + 1) return at;
  }
  return count;
}

}  // namespace ondeloc
