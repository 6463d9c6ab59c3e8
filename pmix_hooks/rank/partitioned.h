// SPDX-License-Identifier: Apache-2.0
// Partitioned sends (MPI 4.0). Open MPI sends each partition that is marked ready as a message of
// its own: it starts an internal persistent request without a call through its table. Therefore
// each mark is counted as one message.
// Thread safety: partitions of one request are marked by any threads at a time.
#pragma once

#include <cstddef>

#include "pmix_hooks/rank/counting.h"

namespace ondeloc {

// Remembers the addition of one partition of a request that MPI_Psend_init has made.
void partitioned_remember(const void* request, const Addition& one);
void partitioned_ready(const void* request, std::size_t partitions);

}  // namespace ondeloc
