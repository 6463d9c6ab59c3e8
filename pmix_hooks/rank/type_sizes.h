// SPDX-License-Identifier: Apache-2.0
// Bytes of one element of an MPI datatype. Predefined types stand in a small table that is filled
// at attach and read-only after; every other type is asked for each time with PMPI_Type_size_x,
// never remembered, because handles of freed types come back as other types.
// Thread safety: after type_sizes_start() any thread.
#pragma once

#include <cstdint>

#include "pmix_hooks/rank/mpi_calls.h"
#include "pmix_hooks/rank/mpich_handles.h"

namespace ondeloc {

struct TypeEntry {
  const void* type;
  std::uint64_t bytes;
};
inline constexpr std::uint64_t kTypeSlots = 256;  // at most a third full
// The last is always empty. NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit
extern TypeEntry type_table[kTypeSlots + 1];

// The handles of predefined types tell their size in the MPICH family, which needs no table.
void type_sizes_start(const MpiCalls& calls, bool mpich);
std::uint64_t derived_type_size(void* type);

inline std::uint64_t type_hash(const void* type) {
  return (reinterpret_cast<std::uintptr_t>(type) * 0x9E3779B97F4A7C15ULL) >> 56;
}

inline std::uint64_t type_size(void* type) {
  for (std::uint64_t i = type_hash(type);; ++i) {
    const TypeEntry& entry = type_table[i];
    if (__builtin_expect(entry.type == type, 1)) return entry.bytes;
    if (entry.type == nullptr) return derived_type_size(type);
  }
}

// Null: finding the size takes a call, or more than one look.
inline const TypeEntry* known_type(const void* type) {
  const TypeEntry& entry = type_table[type_hash(type)];
  return __builtin_expect(entry.type == type, 1) ? &entry : nullptr;
}

inline std::uint64_t mpich_type_size(void* type) {
  const std::uint64_t bytes = mpich_handles.standard ? mpich_predefined_bytes<true>(type)
                                                     : mpich_predefined_bytes<false>(type);
  if (__builtin_expect(bytes != 0, 1)) return bytes;
  // MPI aborts when it is asked for the size of no type.
  return mpich_bits(type) == mpich_handles.null_type ? 0 : derived_type_size(mpich_word(type));
}

}  // namespace ondeloc
