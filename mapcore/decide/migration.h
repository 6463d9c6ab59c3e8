// SPDX-License-Identifier: Apache-2.0
// The ranks that a new mapping moves, and the predicted cost of that. Thread safety: pure
// functions.
#pragma once

#include <span>

#include "mapcore/map/cost.h"

namespace ondeloc {

// True if the rank gets other CPUs. Two slots with the same CPUs are the same place: slots repeat
// where ranks outnumber CPUs.
bool changes_cpus(const SlotSet& slots, SlotIndex before, SlotIndex after);
// True if some rank gets other CPUs.
bool changes_cpus(const SlotSet& slots, const Mapping& before, const Mapping& after);

// True if more ranks change their NUMA node than a node has on average: ranks / nodes. On a machine
// with one node its last-level caches count instead: they are what ranks can be moved between.
bool moves_many(const SlotSet& slots, const CostModel& model, const Mapping& before,
                const Mapping& after);

// Predicted seconds: the bytes of a moved rank over the slower of memory and link if its memory
// follows it to another NUMA node. For every other rank with other CPUs a fixed price: 1 ms to
// another NUMA node, 0.25 ms to another last-level cache of its node, 0.1 ms inside its cache.
// `resident`: bytes of each rank; may be empty (then no memory is counted).
double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const double> resident,
                         bool memory_follows);

}  // namespace ondeloc
