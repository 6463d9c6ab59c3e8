// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpi_calls.h"

#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

template <class Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(mpi_symbol(name));
  return function != nullptr;
}

}  // namespace

bool has_standard_abi() {
  int (*ask)(int*, int*) = nullptr;
  int major = -1;
  int minor = -1;
  return find(ask, "PMPI_Abi_get_version") && ask(&major, &minor) == open_mpi::kSuccess &&
         major > 0;
}

bool find_mpi_calls(MpiCalls& calls) {
  if (!find(calls.group_size, "PMPI_Group_size") ||
      !find(calls.win_get_group, "PMPI_Win_get_group") ||
      !find(calls.win_get_name, "PMPI_Win_get_name"))
    calls.win_get_group = nullptr;
  if (!find(calls.group_rank, "PMPI_Group_rank") || calls.group_size == nullptr ||
      !find(calls.group_from_session_pset, "PMPI_Group_from_session_pset"))
    calls.group_from_session_pset = nullptr;
  return find(calls.get_library_version, "PMPI_Get_library_version") &&
         find(calls.query_thread, "PMPI_Query_thread") && find(calls.comm_rank, "PMPI_Comm_rank") &&
         find(calls.comm_size, "PMPI_Comm_size") &&
         find(calls.comm_remote_size, "PMPI_Comm_remote_size") &&
         find(calls.comm_test_inter, "PMPI_Comm_test_inter") &&
         find(calls.comm_group, "PMPI_Comm_group") &&
         find(calls.comm_remote_group, "PMPI_Comm_remote_group") &&
         find(calls.group_incl, "PMPI_Group_incl") &&
         find(calls.group_translate_ranks, "PMPI_Group_translate_ranks") &&
         find(calls.group_free, "PMPI_Group_free") && find(calls.type_size, "PMPI_Type_size_x");
}

}  // namespace ondeloc
