// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/mapping.h"

namespace ondeloc {

Slot make_slot(const Machine& machine, CpuSet pus) {
  NodeIndex best(0);
  int most = 0;
  for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
    const int here = (machine.nodes[k].pus & pus).count();
    if (here > most) {
      most = here;
      best = NodeIndex(static_cast<int>(k));
    }
  }
  return Slot{std::move(pus), best};
}

bool is_valid(const Mapping& mapping, const SlotSet& slots) {
  std::vector<bool> taken(slots.size());
  for (const SlotIndex slot : mapping) {
    const auto at = static_cast<std::size_t>(slot.value);
    if (slot.value < 0 || at >= slots.size() || taken[at]) return false;
    taken[at] = true;
  }
  return true;
}

int count_migrations(const SlotSet& slots, const Mapping& before, const Mapping& after) {
  int moved = 0;
  for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
    const auto from = static_cast<std::size_t>(before[i].value),
               to = static_cast<std::size_t>(after[i].value);
    moved += slots[from].node != slots[to].node ? 1 : 0;
  }
  return moved;
}

}  // namespace ondeloc
