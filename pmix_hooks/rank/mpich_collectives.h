// SPDX-License-Identifier: Apache-2.0
// Collectives of the MPICH family: counted by the model of mpich_model, since nothing below MPI's
// own functions can be seen. What the model adds is also added to totals of its own.
#pragma once

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/peers.h"

namespace ondeloc {

// `knows_nodes`: mpi_family.h. `slot`: where the totals are; null: nowhere. Finds what the user has
// set that the model knows.
void collectives_start(const MpiCalls& calls, const LocalTable& table, bool knows_nodes,
                       ondeloc_slot* slot);

// True if the user has changed how MPICH chooses algorithms: the model follows the defaults.
bool collectives_are_tuned();

}  // namespace ondeloc
