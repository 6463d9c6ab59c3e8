// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/mapping.h"

#include <algorithm>

namespace ondeloc {

namespace {

// Returns the wanted object that holds most of the PUs; the first of equals.
template <typename Objects, typename Wanted>
int holder_of(const Objects& objects, const CpuSet& pus, Wanted wanted) {
  int best = 0, most = 0;
  for (std::size_t k = 0; k < objects.size(); ++k) {
    const int here = wanted(objects[k]) ? (objects[k].pus & pus).count() : 0;
    if (here <= most) continue;
    most = here;
    best = static_cast<int>(k);
  }
  return best;
}

}  // namespace

Slot make_slot(const Machine& machine, CpuSet pus) {
  const NodeIndex node(holder_of(machine.nodes, pus, [](const NumaNode&) { return true; }));
  const LlcIndex llc(
      holder_of(machine.llcs, pus, [node](const Llc& each) { return each.node == node; }));
  Slot slot{std::move(pus), node, {}};
  bool is_first = true;
  for (const Pu& pu : machine.pus) {
    if (pu.llc != llc || !slot.pus.test(pu.os)) continue;
    const Seat seat = machine.seat_of(pu);
    if (is_first) slot.seat = seat;
    is_first = false;
    if (slot.seat.core != seat.core) slot.seat.core = -1;
    if (slot.seat.l2 != seat.l2) slot.seat.l2 = -1;
  }
  return slot;
}

int count_straddling(const Machine& machine, const SlotSet& slots) {
  return static_cast<int>(std::count_if(slots.begin(), slots.end(), [&](const Slot& slot) {
    return !slot.pus.is_subset_of(machine.llcs[slot.seat.llc.value].pus);
  }));
}

bool is_valid(const Mapping& mapping, const SlotSet& slots) {
  IndexedVector<SlotIndex, bool> taken(slots.size());
  for (const SlotIndex slot : mapping) {
    if (!slots.has(slot) || taken[slot]) return false;
    taken[slot] = true;
  }
  return true;
}

int count_migrations(const SlotSet& slots, const Mapping& before, const Mapping& after) {
  int moved = 0;
  for (std::size_t i = 0; i < before.size() && i < after.size(); ++i)
    moved += slots[before[i]].node != slots[after[i]].node ? 1 : 0;
  return moved;
}

}  // namespace ondeloc
