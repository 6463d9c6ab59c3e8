// SPDX-License-Identifier: Apache-2.0
// The handles of programs of the MPICH family: integers of 32 bits (mpich_facts.h) or, if the
// program is linked with libmpi_abi, pointers (standard_abi_facts.h). The form is chosen once. As
// arguments both come in words; the upper halves of the words of integers have no meaning.
// Thread safety: mpich_handles_start() before the first message; then any thread.
#pragma once

#include <cstddef>

#include "pmix_hooks/mpich_facts.h"
#include "pmix_hooks/standard_abi_facts.h"

namespace ondeloc {

struct MpichHandles {
  bool standard;        // of the standard interface
  std::uintptr_t mask;  // the bits of a word that mean something
  std::uintptr_t comm_world, null_comm;
  std::uintptr_t double_type;
  std::uintptr_t null_type;
  std::uintptr_t in_place;
  std::uintptr_t no_op;
  int root, proc_null;
  int graph, cartesian, distributed_graph;
};
inline constexpr MpichHandles kOwnHandles{
    false,
    0xffffffff,
    mpich::kCommWorld,
    mpich::kNullComm,
    mpich::kDouble,
    mpich::kNullType,
    mpich::kInPlace,
    mpich::kNoOp,
    mpich::kRoot,
    mpich::kProcNull,
    mpich::kGraph,
    mpich::kCartesian,
    mpich::kDistributedGraph,
};
inline constexpr MpichHandles kStandardHandles{
    true,
    ~std::uintptr_t{0},
    standard_abi::kCommWorld,
    standard_abi::kNullComm,
    standard_abi::kDouble,
    standard_abi::kNullType,
    standard_abi::kInPlace,
    standard_abi::kNoOp,
    standard_abi::kRoot,
    standard_abi::kProcNull,
    standard_abi::kGraph,
    standard_abi::kCartesian,
    standard_abi::kDistributedGraph,
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined
extern MpichHandles mpich_handles;

void mpich_handles_start(bool standard);

inline void* word_of_bits(std::uintptr_t bits) {
  return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr): MPI's handles
}
inline std::uintptr_t mpich_bits(const void* word) {
  return reinterpret_cast<std::uintptr_t>(word) & mpich_handles.mask;
}
// The word without bits that mean nothing.
inline void* mpich_word(const void* word) { return word_of_bits(mpich_bits(word)); }

// The handle that stands at a place of an array, as a word.
inline void* mpich_handle_in(const void* array, std::size_t place) {
  if (mpich_handles.standard) return static_cast<void* const*>(array)[place];
  return mpich::word_of(static_cast<const mpich::Handle*>(array)[place]);
}
inline void* mpich_handle_at(const void* address) { return mpich_handle_in(address, 0); }

template <bool kStandard>
inline std::uint64_t mpich_predefined_bytes(const void* type) {  // 0: not predefined, or to ask for
  if (kStandard) return standard_abi::predefined_bytes(reinterpret_cast<std::uintptr_t>(type));
  const mpich::Handle handle = mpich::handle_of(type);
  return (handle & mpich::kKindMask) == mpich::kPredefinedType ? mpich::predefined_bytes(handle)
                                                               : 0;
}
inline bool mpich_is_predefined_op(const void* operation) {
  if (mpich_handles.standard) return mpich_bits(operation) < standard_abi::kPredefinedEnd;
  return (mpich::handle_of(operation) & mpich::kKindMask) == mpich::kPredefinedOp;
}

}  // namespace ondeloc
