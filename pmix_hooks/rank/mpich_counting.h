// SPDX-License-Identifier: Apache-2.0
// The work of counting.h for the handles of the MPICH family. The upper
// halves of words that carry handles have no meaning. Thread safety: any thread.
#pragma once

#include "pmix_hooks/mpich_facts.h"
#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {

inline Addition mpich_addition(std::size_t count, void* type, int peer, void* comm) {
  const std::uint64_t cell_code = cell_code_of(peer, mpich::word_of(mpich::handle_of(comm)));
  if (__builtin_expect(cell_code == 0, 0)) return {0, 0};
  return {cell_code, count * mpich_type_size(type)};
}

// The addition of a message that takes no call to count: in the mode that is usual for MPICH, to a
// known peer, of a predefined type. Else its cell code is 0.
[[gnu::always_inline]] inline Addition mpich_known_addition(std::size_t count, const void* type,
                                                            int peer, const void* comm) {
  const std::uint64_t cell_code = known_cell_code(peer, mpich::word_of(mpich::handle_of(comm)));
  const mpich::Handle handle = mpich::handle_of(type);
  if (!counting.plain || (handle & mpich::kKindMask) != mpich::kPredefinedType) return {0, 0};
  return {cell_code, count * mpich::predefined_bytes(handle)};
}
// REQUIRES: an addition that mpich_known_addition() gave.
[[gnu::always_inline]] inline void mpich_add_known(const Addition& addition) {
  if (addition.cell_code == 0) __builtin_unreachable();
  add_message<false>(counting.row[static_cast<std::uint32_t>(addition.cell_code) - 1],
                     addition.bytes);
}

// The handle that lies at an address, as a word.
inline void* mpich_handle_at(const void* address) {
  return mpich::word_of(*static_cast<const mpich::Handle*>(address));
}

}  // namespace ondeloc
