// SPDX-License-Identifier: Apache-2.0
// Slots for ranks that share CPUs because there are more ranks than room. Thread safety: pure
// function.
#pragma once

#include "mapcore/map/mapping.h"

namespace ondeloc {

// Returns `count` slots of exactly cpus_per_task PUs for ranks that share PUs. If the slots of
// cut_slots() use all PUs, each of these slots appears as often as any other, give or take one. If
// they leave PUs over, slots follow each other in the nodes, so that each PU of a node is used as
// often as any other of the node, give or take one. Nodes with fewer than cpus_per_task PUs are
// treated together as one node. REQUIRES: 1 <= cpus_per_task <= pus.count().
SlotSet shared_slots(const Machine& machine, const CpuSet& pus, int count, int cpus_per_task);

// The PUs that a rank gets which has to share: all of its NUMA node. If the machine has one node
// with several last-level caches of more than one PU each: all of its cache.
bool shares_caches(const Machine& machine, const CpuSet& pus);

// Returns `count` slots for ranks that outnumber the PUs, by node and cache. Each slot is all of
// `pus` in one NUMA node or cache, see shares_caches(), and each of these has slots in proportion
// to its PUs.
SlotSet whole_node_slots(const Machine& machine, const CpuSet& pus, int count);

}  // namespace ondeloc
