// SPDX-License-Identifier: Apache-2.0
// Network adapters and GPUs of a machine. Only the files of this folder include this.
// Thread safety: pure functions of the topology, but for what scan_devices() reads.
#pragma once

#include <hwloc.h>

#include "mapcore/topology/machine.h"

namespace ondeloc {

// The adapters and GPUs of an hwloc XML file, by the same rules as scan_devices(). A file that was
// exported without I/O objects has none.
void read_devices(hwloc_topology_t topology, Machine& machine);

// Makes the locality of each device consistent with the machine: `near` are the PUs of its node if
// it has one; CPUs of one node are that node; CPUs that are the whole machine are unknown.
// REQUIRES: the machine has its PUs and nodes.
void place_devices(Machine& machine);

}  // namespace ondeloc
