// SPDX-License-Identifier: Apache-2.0
// PUs, caches and kinds of cores of an hwloc topology. Only the files of this folder include this.
// Thread safety: pure functions of the topology.
#pragma once

#include <hwloc.h>

#include "mapcore/topology/machine.h"

namespace ondeloc {

void read_pus(hwloc_topology_t topology, Machine& machine);

// REQUIRES: the PUs have their NUMA nodes. Gives every PU its last-level cache.
void read_caches(hwloc_topology_t topology, Machine& machine);

void read_kinds(hwloc_topology_t topology, Machine& machine);

}  // namespace ondeloc
