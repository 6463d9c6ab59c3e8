// SPDX-License-Identifier: Apache-2.0
// The binary interface that the MPI 5.0 standard defines (libmpi_abi), as far as the rank library
// depends on it. Handles are pointers. Predefined handles are small numbers below the first page,
// so that no object has such an address.
//
// Source: MPI 5.0, chapter 20 and appendix A.
#pragma once

#include <cstdint>

namespace ondeloc::standard_abi {

inline constexpr std::uintptr_t kPredefinedEnd = 0x1000;
inline constexpr std::uintptr_t kNullComm = 0x100;  // MPI_COMM_NULL
inline constexpr std::uintptr_t kCommWorld = 0x101;
inline constexpr std::uintptr_t kDouble = 0x214;  // MPI_DOUBLE
inline constexpr std::uintptr_t kNoOp = 0x3d;     // MPI_NO_OP
inline constexpr std::uintptr_t kInPlace = 1;     // MPI_IN_PLACE
inline constexpr int kProcNull = -3;
inline constexpr int kRoot = -4;
inline constexpr int kCartesian = 211, kGraph = 212, kDistributedGraph = 213;  // MPI_CART, ...

inline constexpr std::uintptr_t kTypesBegin = 0x200, kTypesEnd = 0x300;
inline constexpr std::uintptr_t kNullType = 0x200;  // MPI_DATATYPE_NULL
// Types from here on have the same size everywhere, and bits 3 to 5 are its binary logarithm.
inline constexpr std::uintptr_t kFixedTypesBegin = 0x240;

// Bytes of the types of C before kFixedTypesBegin, which the host's compiler tells. The types of
// Fortran have 0, since only the MPI library knows its Fortran compiler.
struct HostTypes {
  std::uint8_t bytes[kFixedTypesBegin - kTypesBegin];
  constexpr HostTypes() : bytes{} {
    set(0x201, sizeof(void*))
        .set(0x202, 8)
        .set(0x203, 8)
        .set(0x207, 1);  // AINT COUNT OFFSET PACKED
    set(0x208, sizeof(short)).set(0x209, sizeof(int)).set(0x20a, sizeof(long)).set(0x20b, 8);
    set(0x20c, sizeof(short)).set(0x20d, sizeof(int)).set(0x20e, sizeof(long)).set(0x20f, 8);
    set(0x210, sizeof(float)).set(0x212, 2 * sizeof(float)).set(0x213, 2 * sizeof(float));
    set(0x214, sizeof(double)).set(0x216, 2 * sizeof(double)).set(0x217, 2 * sizeof(double));
    set(0x220, sizeof(long double)).set(0x224, 2 * sizeof(long double));
    set(0x225, 2 * sizeof(long double)).set(0x238, sizeof(bool)).set(0x239, sizeof(bool));
    set(0x23c, sizeof(wchar_t));
  }

 private:
  constexpr HostTypes& set(std::uintptr_t type, std::size_t size) {
    bytes[type - kTypesBegin] = static_cast<std::uint8_t>(size);
    return *this;
  }
};
inline constexpr HostTypes kHostTypes;

// 0: the MPI library has to be asked.
inline std::uint64_t predefined_bytes(std::uintptr_t type) {
  if (type - kTypesBegin >= kTypesEnd - kTypesBegin) return 0;
  if (type < kFixedTypesBegin) return kHostTypes.bytes[type - kTypesBegin];
  return std::uint64_t{1} << (type >> 3 & 7);
}

// The levels of threads have larger numbers than in other interfaces: 0, 1024, 2048, 4096. Returns
// the usual 0 to 3.
inline int thread_level(int level) {
  if (level < 1024) return level;
  return level < 2048 ? 1 : level < 4096 ? 2 : 3;
}

}  // namespace ondeloc::standard_abi
