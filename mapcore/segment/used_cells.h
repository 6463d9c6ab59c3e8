// SPDX-License-Identifier: Apache-2.0
// The part of a row that tells which local ranks its rank has sent to, or fetched from: a bit for
// each. Lies behind the cells of ranks off the node (layout.h). Most ranks talk to a few others, so
// that a reader need not look at most cells, whose memory is mostly in another core's cache. A rank
// sets a bit when it finds the cell of a peer, once for each communicator, never while a message to
// a known peer is counted.
//
// Thread safety: all functions, from any number of processes. Nothing here allocates or fails.
// Other processes of the user may write anything into the bits.
#pragma once

#include <bit>
#include <cstdint>

#include "mapcore/segment/header_check.h"
#include "mapcore/segment/layout.h"

namespace ondeloc {

struct UsedCells {
  std::uint64_t* words = nullptr;  // cell i: bit i % 64 of word i / 64
  std::uint32_t count = 0;         // of words

  // REQUIRES: cell < 64 * count. A store that changes nothing would take the line from its reader.
  void mark(std::uint32_t cell) const {
    std::uint64_t& word = words[cell / 64];
    const std::uint64_t bit = std::uint64_t{1} << cell % 64;
    if ((__atomic_load_n(&word, __ATOMIC_RELAXED) & bit) == 0)
      __atomic_fetch_or(&word, bit, __ATOMIC_RELAXED);
  }

  // Calls visit(cell) for each marked cell, ascending.
  template <class Visit>
  void each(Visit visit) const {
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::uint64_t left = __atomic_load_n(&words[i], __ATOMIC_RELAXED); left != 0;
           left &= left - 1)
        visit(64 * i + static_cast<std::uint32_t>(std::countr_zero(left)));
  }
};

// REQUIRES: `row` is a row of a step of these sizes (layout.h).
inline UsedCells used_cells_of(ondeloc_cell* row, std::uint32_t local_ranks,
                               std::uint32_t world_ranks) {
  const std::uint64_t words = ondeloc_used_words(local_ranks);
  const std::uint64_t end = ondeloc_row_size(local_ranks, world_ranks);
  auto* bytes = reinterpret_cast<char*>(row) + end - words * sizeof(std::uint64_t);
  return {reinterpret_cast<std::uint64_t*>(bytes), static_cast<std::uint32_t>(words)};
}

}  // namespace ondeloc
