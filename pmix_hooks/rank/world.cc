// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/world.h"

namespace ondeloc {
namespace {

constexpr char kProcessSet[] = "mpi://WORLD";  // of the MPI standard

bool ok(int rc) { return rc == open_mpi::kSuccess; }

bool find_process_set(MpiCalls& calls, void* session, int& rank, int& size) {
  return calls.group_from_session_pset != nullptr &&
         ok(calls.group_from_session_pset(session, kProcessSet, &calls.world_group)) &&
         ok(calls.group_rank(calls.world_group, &rank)) &&
         ok(calls.group_size(calls.world_group, &size));
}

}  // namespace

bool find_world(MpiCalls& calls, void* session, int& rank, int& size) {
  if (session != nullptr) return find_process_set(calls, session, rank, size);
  return ok(calls.comm_rank(calls.comm_world, &rank)) &&
         ok(calls.comm_size(calls.comm_world, &size)) &&
         ok(calls.comm_group(calls.comm_world, &calls.world_group));
}

}  // namespace ondeloc
