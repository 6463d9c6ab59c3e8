// SPDX-License-Identifier: Apache-2.0
// NUMA nodes, other memories, distances and bandwidths of an hwloc topology. Only the files of this
// folder include this. Thread safety: pure functions of the topology.
#pragma once

#include <hwloc.h>

#include "mapcore/topology/machine.h"

namespace ondeloc {

// REQUIRES: machine.pus is complete. Gives every PU its node.
void read_memory(hwloc_topology_t topology, Machine& machine);

}  // namespace ondeloc
