// SPDX-License-Identifier: Apache-2.0
// Gathers, scatters, exchanges of all with all, prefix reductions and barriers in a flat group
// (group.h). `bytes` is one rank's block.
#pragma once

#include "pmix_hooks/mpich_model/blocks.h"
#include "pmix_hooks/mpich_model/broadcast.h"

namespace ondeloc::mpich_model {

void gather(const Group& group, std::uint64_t bytes, int root);
void scatter_blocks(const Group& group, std::uint64_t bytes, int root);
void allgather(const Group& group, std::uint64_t bytes);

// `pipeline_bytes`: MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE, by which a ring cuts large blocks into
// messages; the extent of the datatype is taken to be its size.
void allgatherv(const Group& group, const Blocks& counts, std::uint64_t type_size,
                std::uint64_t pipeline_bytes, Form form);

void alltoall(const Group& group, std::uint64_t bytes, bool in_place, Form form);
void scan(const Group& group, std::uint64_t bytes);
void barrier(const Group& group);

}  // namespace ondeloc::mpich_model
