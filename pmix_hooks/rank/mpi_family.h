// SPDX-License-Identifier: Apache-2.0
// The family of the MPI library of this process, chosen once at attach. Thread safety: any thread.
#pragma once

#include <cstdint>

#include "pmix_hooks/rank/mpi_calls.h"

namespace ondeloc {

enum class MpiFamily : std::uint8_t {
  kUndecided,  // before attach
  kOpenMpi,
  kMpich,
  kNone,  // left alone: not recognised, not of this step, or detached
};

inline constexpr std::size_t kLibraryNameBytes = 40;

// The library that get_library_version() names.
struct MpiLibrary {
  MpiFamily family;              // kNone: not recognised
  int series;                    // the major version; 0: of a library that only resembles MPICH
  bool validated;                // ondeloc's tests run with this library
  bool knows_nodes;              // false: a build of MPICH that takes each rank for a node
  char name[kLibraryNameBytes];  // "Open MPI 4.1.4", "MPICH 4.0.2"
};

MpiLibrary library_from_version(const char* version);
MpiLibrary recognise_library(const MpiCalls& calls);
// True if the handles are those of mpich_handles.h: a predefined type has the size that its handle
// says. `has_world`: false if there was no MPI_Init, so that MPI_COMM_WORLD must not be used.
bool are_mpich_handles(const MpiCalls& calls, bool has_world);

MpiFamily mpi_family();
void set_mpi_family(MpiFamily family);

}  // namespace ondeloc
