// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/partitioned.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/pointer_map.h"

namespace ondeloc {
namespace {

// Nothing is ever forgotten: only a request of MPI_Psend_init is marked, and that renews the entry.
PointerMap by_request;

}  // namespace

void partitioned_remember(const open_mpi::Handle* request, std::size_t count, open_mpi::Handle type,
                          int destination, open_mpi::Handle comm) {
  if (!counting.active.load(std::memory_order_relaxed)) return;
  MapEntry* entry = by_request.find_or_insert(*request);
  if (entry == nullptr) return;
  const Addition one = addition_of(count, type, destination, comm);
  entry->second.store(one.bytes, std::memory_order_relaxed);
  entry->first.store(one.place, std::memory_order_release);
}

void partitioned_ready(open_mpi::Handle request, std::size_t partitions) {
  if (!counting.active.load(std::memory_order_relaxed)) return;
  const MapEntry* entry = by_request.find(request);
  if (entry == nullptr) return;
  const Addition one{entry->first.load(std::memory_order_acquire),
                     entry->second.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < partitions; ++i) add_started(one);
}

}  // namespace ondeloc
