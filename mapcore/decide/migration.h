// SPDX-License-Identifier: Apache-2.0
// The ranks that a new mapping moves, and the predicted cost of that. Thread safety: pure
// functions.
#pragma once

#include <span>

#include "mapcore/map/cost.h"

namespace ondeloc {

// Memory that follows a rank to another NUMA node.
struct FollowingMemory {
  double bytes = 0;
  double pages = 0;  // that the kernel copies one by one; the rest of the bytes is in huge pages
};

// True if the rank gets other CPUs. Two slots with the same CPUs are the same place: slots repeat
// where ranks outnumber CPUs.
bool changes_cpus(const SlotSet& slots, SlotIndex before, SlotIndex after);
// True if some rank gets other CPUs.
bool changes_cpus(const SlotSet& slots, const Mapping& before, const Mapping& after);

// True if more ranks change their NUMA node than a node has on average: ranks / nodes. On a machine
// with one node its last-level caches count instead: they are what ranks can be moved between.
bool moves_many(const SlotSet& slots, const CostModel& model, const Mapping& before,
                const Mapping& after);

// Predicted seconds that the step is held up. Memory that follows moved ranks to other NUMA nodes:
// the bytes of each rank over the slower of memory and link, and the kernel's work for each small
// page, as if the mapper copied for one rank after the other. Every other rank with other CPUs
// fills its new last-level cache: 0.4 ms from another NUMA node, 0.25 ms from another cache of its
// node, 0.1 ms inside its cache. Ranks of one cache fill it one after the other, and caches are
// filled at the same time, so the largest sum of a cache counts. `memory`: of each rank; may be
// empty (then none is counted).
double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const FollowingMemory> memory,
                         bool memory_follows);

}  // namespace ondeloc
