// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/partitioned.h"

#include "pmix_hooks/rank/addition_map.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

// Nothing is ever forgotten: only a request of MPI_Psend_init is marked, and that renews the entry.
AdditionMap by_request;

}  // namespace

void partitioned_remember(const void* request, const Addition& one) {
  by_request.remember(request, one);
}

void partitioned_ready(const void* request, std::size_t partitions) {
  if (!counting.active.load(std::memory_order_relaxed)) return;
  const Addition one = by_request.lookup(request);
  for (std::size_t i = 0; i < partitions; ++i) add_started(one);
}

}  // namespace ondeloc
