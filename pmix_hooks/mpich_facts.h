// SPDX-License-Identifier: Apache-2.0
// Every fact about the binary interface of MPICH and its family (Intel MPI, Cray MPICH, MVAPICH)
// that the rank library depends on. mpi_family.cc checks them at attach as far as possible.
//
// Source: src/include/mpi.h.in and mpir_objects.h at v4.0.2, v4.2.1, v4.3.0 and v5.0.1, and the ABI
// that the family has kept since 2013 (https://www.mpich.org/abi).
//   - Handles are 32-bit integers. As arguments they come in the same words as pointers do, with
//     upper halves that mean nothing.
//   - The six highest bits of a handle tell the kind of object and whether it is predefined. A
//     predefined datatype carries its size in bits 8 to 15.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ondeloc::mpich {

using Handle = std::uint32_t;

inline constexpr Handle kCommWorld = 0x44000000;
inline constexpr Handle kNullComm = 0x04000000;  // MPI_COMM_NULL
inline constexpr Handle kDouble = 0x4c00080b;  // MPI_DOUBLE
inline constexpr Handle kNullType = 0x0c000000;  // MPI_DATATYPE_NULL
inline constexpr Handle kRequestNull = 0x2c000000;
inline constexpr std::uintptr_t kInPlace = ~std::uintptr_t{0};  // MPI_IN_PLACE, (void*)-1
inline constexpr int kProcNull = -1;
inline constexpr int kRoot = -3;
inline constexpr int kGraph = 1, kCartesian = 2, kDistributedGraph = 3;  // MPI_GRAPH, MPI_CART, ...
inline constexpr Handle kNoOp = 0x5800000e;                              // MPI_NO_OP

inline constexpr Handle kKindMask = 0xfc000000;
inline constexpr Handle kPredefinedType = 0x4c000000;
inline constexpr Handle kPredefinedOp = 0x58000000;

inline Handle handle_of(const void* word) {
  return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(word));
}

inline std::uint64_t predefined_bytes(Handle type) { return type >> 8 & 0xff; }

// Returns the handle as the word that maps and MPI calls take: the upper half is zero.
inline void* word_of(Handle handle) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle));
}

}  // namespace ondeloc::mpich
