// SPDX-License-Identifier: Apache-2.0
// Slots and mappings. A slot is the set of PUs that one rank owns; a mapping gives every local rank
// a slot of its own. There may be more slots than ranks (idle CPUs), and slots may repeat
// (oversubscription). Thread safety: values.
#pragma once

#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/indexed_vector.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

struct Slot {
  CpuSet pus;
  NodeIndex node;  // the NUMA node that holds most of the PUs, the lower index on a tie
  // In the last-level cache of that node that holds most of the PUs. Core and L2 are -1 if the PUs
  // there are on several.
  Seat seat;
  friend bool operator==(const Slot&, const Slot&) = default;
};

using SlotSet = IndexedVector<SlotIndex, Slot>;

// Makes the slot of these PUs on this machine. REQUIRES: at least one PU is in the machine.
Slot make_slot(const Machine& machine, CpuSet pus);

// mapping[rank] = slot; REQUIRES for every algorithm's result: injective, in range.
using Mapping = IndexedVector<LocalRank, SlotIndex>;

// True if every rank has a slot in range and no slot has two ranks.
bool is_valid(const Mapping& mapping, const SlotSet& slots);

// Counts the slots whose PUs are in more than one last-level cache.
int count_straddling(const Machine& machine, const SlotSet& slots);

// Counts the ranks whose NUMA node differs between two mappings of the same slots.
int count_migrations(const SlotSet& slots, const Mapping& before, const Mapping& after);
// The condition of OnDeLocMap+ for a move: more than ranks / domains ranks change their domain.
inline bool is_many(int migrations, std::size_t ranks, int domains) {
  return migrations > static_cast<int>(ranks) / domains;
}

}  // namespace ondeloc
