// SPDX-License-Identifier: Apache-2.0
// The node of each world rank, as MPICH sees it: Slurm's layout of the step, or the user's
// variables that make MPICH see several nodes in one (MPIR_CVAR_NUM_CLIQUES and its kin). Written
// once at attach. Errors: without memory all ranks are on node 0.
#pragma once

#include "pmix_hooks/rank/peers.h"

namespace ondeloc {

// `knows_nodes`: mpi_family.h.
void mpich_nodes_start(const LocalTable& table, bool knows_nodes);
int mpich_node_of_world(int world);
int mpich_node_limit();  // greater than every node

// The nodes of `tasks` ranks by Slurm's text "2(x3),1": block order, or cyclic order. False if the
// text does not give `tasks` ranks.
bool nodes_of_layout(const char* text, bool cyclic, int tasks, int* nodes);

}  // namespace ondeloc
