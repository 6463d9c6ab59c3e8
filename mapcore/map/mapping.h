// SPDX-License-Identifier: Apache-2.0
// Slots and mappings. A slot is the set of PUs that one rank owns; a mapping gives every local rank
// a slot of its own. Slots may be more than ranks (idle CPUs) and may repeat (oversubscription).
// Thread safety: values.
#pragma once

#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

struct Slot {
  CpuSet pus;
  NodeIndex node;  // the NUMA node that holds most of the PUs, the lower index on a tie
  friend bool operator==(const Slot&, const Slot&) = default;
};

using SlotSet = std::vector<Slot>;

// The slot of these PUs on this machine. REQUIRES: at least one of them is in the machine.
Slot make_slot(const Machine& machine, CpuSet pus);

// mapping[rank] = slot; REQUIRES for every algorithm's result: injective, in range.
using Mapping = std::vector<SlotIndex>;

// True when every rank has a slot in range and no slot has two ranks.
bool is_valid(const Mapping& mapping, const SlotSet& slots);

// Ranks whose NUMA node differs between two mappings of the same slots.
int count_migrations(const SlotSet& slots, const Mapping& before, const Mapping& after);

}  // namespace ondeloc
