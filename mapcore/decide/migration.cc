// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/migration.h"

#include <algorithm>
#include <vector>

namespace ondeloc {
namespace {

// Prices of a move that copies no memory. Another core of the same cache: the calls that bind the
// threads, and the private caches. Another cache: also a rank's part of it, 4 MiB (32 MiB for the 8
// cores of an EPYC 7003), at the 25.6 GB/s of one such cache. Another node: the same from memory
// that is far away, at the default distance of 21 to 10.
constexpr double kSecondsInCache = 0.0001;
constexpr double kSecondsInNode = 0.00025;
constexpr double kSecondsToNode = 0.0004;
// A small page takes 9 to 28 µs in the lab (etc/doc/lab-log.md), 4 KiB over the link 0.6 µs. The
// kernel's developers speak of 1 GB/s, 4 µs a page. Too high a price only delays a move.
constexpr double kSecondsAPage = 12e-6;

double price_without_memory(const Seat& from, const Seat& to) {
  if (!(from.node == to.node)) return kSecondsToNode;
  return from.llc == to.llc ? kSecondsInCache : kSecondsInNode;
}

}  // namespace

bool changes_cpus(const SlotSet& slots, SlotIndex before, SlotIndex after) {
  return before != after && !(slots[before].pus == slots[after].pus);
}

bool changes_cpus(const SlotSet& slots, const Mapping& before, const Mapping& after) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (changes_cpus(slots, before[i], after[i])) return true;
  }
  return false;
}

bool moves_many(const SlotSet& slots, const CostModel& model, const Mapping& before,
                const Mapping& after) {
  if (model.nodes > 1)
    return is_many(count_migrations(slots, before, after), after.size(), model.nodes);
  int moved = 0;
  for (std::size_t i = 0; i < after.size(); ++i)
    moved += slots[before[i]].seat.llc == slots[after[i]].seat.llc ? 0 : 1;
  return is_many(moved, after.size(), std::max(1, model.llcs));
}

double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const FollowingMemory> memory,
                         bool memory_follows) {
  double copies = 0, refills = 0;
  std::vector<double> refill_of(static_cast<std::size_t>(std::max(1, model.llcs)));
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!changes_cpus(slots, before[i], after[i])) continue;
    const int from = slots[before[i]].node.value, to = slots[after[i]].node.value;
    if (memory_follows && from != to && i < memory.size()) {
      copies +=
          memory[i].bytes / std::min(model.bandwidth[to], model.link[from * model.nodes + to]);
      copies += memory[i].pages * kSecondsAPage;
      continue;
    }
    const Seat& seat = slots[after[i]].seat;
    double& refill = refill_of[seat.llc.value];
    refill += price_without_memory(slots[before[i]].seat, seat);
    refills = std::max(refills, refill);
  }
  return copies + refills;
}

}  // namespace ondeloc
