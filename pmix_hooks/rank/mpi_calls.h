// SPDX-License-Identifier: Apache-2.0
// The public MPI calls that the rank library makes, found at attach. All are local operations
// without communication and allowed at any thread level from inside a send.
//
// A handle of MPICH is a 32-bit integer. As an argument it is passed in a word; a function that
// returns a handle through a pointer writes the lower half of a word, which the caller has set to
// zero (little-endian hosts, as layout.h says).
#pragma once

#include "pmix_hooks/open_mpi_facts.h"

namespace ondeloc {

struct MpiCalls {
  using Handle = open_mpi::Handle;
  int (*get_library_version)(char* text, int* length);
  int (*query_thread)(int* level);
  int (*comm_rank)(Handle comm, int* rank);
  int (*comm_size)(Handle comm, int* size);
  int (*comm_remote_size)(Handle comm, int* size);
  int (*comm_test_inter)(Handle comm, int* flag);
  int (*comm_group)(Handle comm, Handle* group);
  int (*comm_remote_group)(Handle comm, Handle* group);
  int (*group_incl)(Handle group, int count, const int* ranks, Handle* out);
  int (*group_translate_ranks)(Handle from, int count, const int* ranks, Handle to, int* out);
  int (*group_free)(Handle* group);
  int (*type_size)(Handle type, long long* bytes);  // PMPI_Type_size_x
  // For windows. Null if the library lacks them: windows are not counted then.
  int (*group_size)(Handle group, int* size);
  int (*win_get_group)(Handle window, Handle* group);
  int (*win_get_name)(Handle window, char* name, int* length);
  // For programs that use sessions in place of MPI_Init. Null if the library has no sessions.
  int (*group_rank)(Handle group, int* rank);
  int (*group_from_session_pset)(Handle session, const char* name, Handle* group);
  Handle comm_world;   // set when the family is known
  Handle world_group;  // set when the world is known
};

// False when one of them is missing. Writes nothing then that may be used.
bool find_mpi_calls(MpiCalls& calls);
// True if the library says that its handles are those of the standard (standard_abi_facts.h). It
// has to be asked first, because MPICH crashes if it gets a handle of the other form. Allowed at any
// time.
bool has_standard_abi();

}  // namespace ondeloc
