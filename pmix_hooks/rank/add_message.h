// SPDX-License-Identifier: Apache-2.0
// Adds one message to one cell of the shared row. A row has one writer process: if one thread
// writes at a time, a relaxed load and store is exact and costs less than an atomic addition; with
// MPI_THREAD_MULTIPLE the addition is atomic and relaxed. Readers use relaxed loads
// (segment_view.h).
#pragma once

#include "mapcore/segment/layout.h"

namespace ondeloc {

template <bool kMultiple>
inline void add_message(ondeloc_cell& cell, uint64_t bytes) {
  if constexpr (kMultiple) {
    __atomic_fetch_add(&cell.bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&cell.messages, 1, __ATOMIC_RELAXED);
  } else {
    __atomic_store_n(&cell.bytes, __atomic_load_n(&cell.bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&cell.messages, __atomic_load_n(&cell.messages, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
  }
}

inline ondeloc_cell read_cell(const ondeloc_cell& cell) {
  return {__atomic_load_n(&cell.bytes, __ATOMIC_RELAXED),
          __atomic_load_n(&cell.messages, __ATOMIC_RELAXED)};
}

}  // namespace ondeloc
