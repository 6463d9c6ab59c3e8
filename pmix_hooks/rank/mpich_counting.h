// SPDX-License-Identifier: Apache-2.0
// The work of counting.h for the handles of the MPICH family. The upper
// halves of words that carry handles have no meaning. Thread safety: any thread.
#pragma once

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {

// MPI aborts when it is asked about no communicator.
inline Addition mpich_addition(std::size_t count, void* type, int peer, void* comm) {
  if (mpich_bits(comm) == mpich_handles.null_comm) return {0, 0};
  const std::uint64_t cell_code = cell_code_of(peer, mpich_word(comm));
  if (__builtin_expect(cell_code == 0, 0)) return {0, 0};
  return {cell_code, count * mpich_type_size(type)};
}

// The addition of a message that takes no call to count: in the mode that is usual for MPICH, to a
// known peer, of a predefined type. Else its cell is null.
template <bool kStandard>
[[gnu::always_inline]] inline KnownAddition mpich_known_addition(std::size_t count,
                                                                 const void* type, int peer,
                                                                 const void* comm) {
  const void* word = kStandard ? comm : mpich::word_of(mpich::handle_of(comm));
  ondeloc_cell* cell = known_cell(peer, word);
  const std::uint64_t bytes = mpich_predefined_bytes<kStandard>(type);
  if (!counting.plain || bytes == 0) return {nullptr, 0};
  return {cell, count * bytes};
}
// REQUIRES: an addition that mpich_known_addition() gave.
[[gnu::always_inline]] inline void mpich_add_known(const KnownAddition& known) {
  add_message<false>(*known.cell, known.bytes);
}

}  // namespace ondeloc
