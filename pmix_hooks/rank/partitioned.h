// SPDX-License-Identifier: Apache-2.0
// Partitioned sends (MPI 4.0). Open MPI sends each partition that is marked ready as a message of
// its own, by a persistent request that it makes and starts inside, past its table; so what is
// counted is the mark.
// Thread safety: partitions of one request are marked by any threads at a time.
#pragma once

#include <cstddef>

#include "pmix_hooks/open_mpi_facts.h"

namespace ondeloc {

// What one partition of the request that MPI_Psend_init has made adds.
void partitioned_remember(const open_mpi::Handle* request, std::size_t count, open_mpi::Handle type,
                          int destination, open_mpi::Handle comm);
void partitioned_ready(open_mpi::Handle request, std::size_t partitions);

}  // namespace ondeloc
