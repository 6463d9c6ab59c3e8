// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace ondeloc {
namespace {

constexpr double kUneven = 2;  // times as many CPUs: an odd core in a socket is no such difference
constexpr double kRounding = 1e-9;

using Unit = std::vector<PuOs>;  // the PUs that are dealt out together: one core, or one PU

// The units of one node in logical order. PUs without a core are cores of their own.
std::vector<Unit> units_of_node(const Machine& machine, const CpuSet& pus, NodeIndex node,
                                bool whole_cores) {
  std::vector<Unit> units;
  std::map<int, std::size_t> unit_of_core;
  for (const Pu& pu : machine.pus) {
    if (pu.node != node || !pus.test(pu.os)) continue;
    const int core = pu.at(Level::kCore);
    const auto known = unit_of_core.find(core);
    if (whole_cores && core >= 0 && known != unit_of_core.end()) {
      units[known->second].push_back(pu.os);
    } else {
      unit_of_core[core] = units.size();
      units.push_back({pu.os});
    }
  }
  // Complete cores first: a core with one thread outside the cpuset only fills up.
  std::stable_sort(units.begin(), units.end(),
                   [](const Unit& a, const Unit& b) { return a.size() > b.size(); });
  return units;
}

// Takes units from the front until `size` PUs are together; an empty set where there are not
// enough.
CpuSet take(std::vector<Unit>& units, int size) {
  CpuSet pus;
  std::size_t used = 0;
  while (used < units.size() && pus.count() < size) {
    for (const PuOs pu : units[used]) pus.set(pu);
    ++used;
  }
  if (pus.count() < size) return {};
  units.erase(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(used));
  return pus;
}

bool all_equal(std::span<const CpuSet> masks) {
  return std::all_of(masks.begin(), masks.end(),
                     [&](const CpuSet& mask) { return mask == masks.front(); });
}

bool all_disjoint(std::span<const CpuSet> masks) {
  CpuSet seen;
  for (const CpuSet& mask : masks) {
    if (mask.intersects(seen)) return false;
    seen |= mask;
  }
  return true;
}

void deal(const Machine& machine, std::vector<Unit>& units, int size, SlotSet& slots) {
  for (CpuSet set = take(units, size); !set.empty(); set = take(units, size))
    slots.push_back(make_slot(machine, std::move(set)));
}

// Slots that lie inside one node each; what is left of the nodes goes to `leftovers`.
SlotSet cut_inside_nodes(const Machine& machine, const CpuSet& pus, int size, bool whole_cores,
                         std::vector<Unit>& leftovers) {
  SlotSet slots;
  for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
    auto units = units_of_node(machine, pus, NodeIndex(static_cast<int>(k)), whole_cores);
    deal(machine, units, size, slots);
    leftovers.insert(leftovers.end(), units.begin(), units.end());
  }
  return slots;
}

int widest_of(const SlotSet& slots) {
  int most = 0;
  for (const Slot& slot : slots) most = std::max(most, slot.pus.count());
  return most;
}

// A core with one thread outside of `pus` makes a slot that is narrower than others: left out in
// nodes that have complete ones, where n are left all the same.
SlotSet without_narrow(const SlotSet& slots, std::size_t n) {
  const int most = widest_of(slots);
  std::set<int> complete;  // nodes
  for (const Slot& slot : slots)
    if (slot.pus.count() == most) complete.insert(slot.node.value);
  SlotSet kept;
  for (const Slot& slot : slots)
    if (slot.pus.count() == most || !complete.contains(slot.node.value)) kept.push_back(slot);
  return kept.size() >= n ? kept : slots;
}

// Slots of hardware threads, more than n: which come first so that every core has one before any
// has two, and of those that share one with others, as many of each node as of its cores.
struct Turn {
  std::size_t turn = 0;  // slots before it on its core
  double share = 0;      // slots before it in its node in this turn / all of those
  std::size_t slot = 0;
  bool operator<(const Turn& other) const {
    return std::tie(turn, share, slot) < std::tie(other.turn, other.share, other.slot);
  }
};

std::vector<Turn> turns_of(const Machine& machine, const SlotSet& slots) {
  std::map<PuOs, int> core_of;
  for (const Pu& pu : machine.pus) core_of[pu.os] = pu.at(Level::kCore);
  std::vector<Turn> turns;
  std::map<std::pair<int, int>, std::size_t> of_core;          // node, core
  std::map<std::pair<int, std::size_t>, std::size_t> of_node;  // node, turn
  for (const Slot& slot : slots) {
    const int core = core_of[PuOs(slot.pus.first())], node = slot.node.value;
    const std::size_t turn = core < 0 ? 0 : of_core[{node, core}]++;
    turns.push_back({turn, static_cast<double>(of_node[{node, turn}]++), turns.size()});
  }
  for (Turn& at : turns)
    at.share /= static_cast<double>(of_node[{slots[at.slot].node.value, at.turn}]);
  return turns;
}

SlotSet without_doubled(const Machine& machine, const SlotSet& slots, std::size_t n) {
  if (slots.size() <= n) return slots;
  std::vector<Turn> turns = turns_of(machine, slots);
  std::sort(turns.begin(), turns.end());
  turns.resize(n);
  std::sort(turns.begin(), turns.end(),
            [](const Turn& a, const Turn& b) { return a.slot < b.slot; });
  SlotSet kept;
  for (const Turn& at : turns) kept.push_back(slots[at.slot]);
  return kept;
}

}  // namespace

SlotSet cut_slots(const Machine& machine, const CpuSet& pus, int size, bool whole_cores) {
  std::vector<Unit> leftovers;
  SlotSet slots = cut_inside_nodes(machine, pus, size, whole_cores, leftovers);
  deal(machine, leftovers, size, slots);
  return slots;
}

SlotSet slots_for(const Machine& machine, const CpuSet& pus, int ranks, int cpus_per_task) {
  const auto n = static_cast<std::size_t>(ranks);
  // A rank gets whole cores as long as every rank can, and no two share a core beside an idle one.
  for (int size = std::min(cpus_per_task, pus.count() / ranks); size >= 1; --size) {
    const SlotSet slots = cut_slots(machine, pus, size, true);
    if (slots.size() >= n) return without_narrow(slots, n);
    const SlotSet threads = cut_slots(machine, pus, size, false);
    if (threads.size() >= n) return without_doubled(machine, threads, n);
  }
  return shared_slots(machine, pus, ranks, 1);
}

namespace {

Status check_masks(const Machine& machine, const SlotRequest& request) {
  if (request.masks.empty()) return Error("no rank on this node");
  const CpuSet known = machine.all_pus();
  for (std::size_t i = 0; i < request.masks.size(); ++i) {
    if (!request.masks[i].intersects(known)) {
      return Error(
          fmt::format("local rank {} is bound to CPUs {}, none of which the topology '{}' has", i,
                      request.masks[i].to_list(), machine.source));
    }
  }
  return {};
}

bool has_repeated_pu(const SlotSet& slots) {
  CpuSet seen;
  for (const Slot& slot : slots) {
    if (slot.pus.intersects(seen)) return true;
    seen |= slot.pus;
  }
  return false;
}

// Together the ranks had all these PUs: few are to lie idle because they are bound. Who said how
// many each needs gets at least those inside a node; of one PU nobody knows whether it was said,
// and who said more than there are gets fewer anyway.
SlotSet slots_from_shared_mask(const Machine& machine, const CpuSet& pus, int ranks,
                               int cpus_per_task) {
  const int most = pus.count() / ranks;
  const bool said = cpus_per_task > 1;
  const int least =
      said && cpus_per_task <= most ? cpus_per_task + 1 : std::max(2, (3 * most + 3) / 4);
  for (int size = most; size >= least; --size) {
    std::vector<Unit> leftovers;
    SlotSet slots = cut_inside_nodes(machine, pus, size, true, leftovers);
    if (slots.size() >= static_cast<std::size_t>(ranks)) return slots;
  }
  return slots_for(machine, pus, ranks, said ? cpus_per_task : most);
}

bool differ_in_width(std::span<const CpuSet> masks) {
  return std::any_of(masks.begin(), masks.end(),
                     [&](const CpuSet& mask) { return mask.count() != masks.front().count(); });
}

bool some_overlap(std::span<const CpuSet> masks) {
  std::vector<CpuSet> kinds;
  for (const CpuSet& mask : masks)
    if (std::find(kinds.begin(), kinds.end(), mask) == kinds.end()) kinds.push_back(mask);
  return !all_disjoint(kinds);
}

// CPUs of each rank where those who share one have equal parts of it.
std::vector<double> shares_of(std::span<const CpuSet> masks) {
  std::map<PuOs, int> users;
  for (const CpuSet& mask : masks)
    for (const PuOs pu : mask.to_vector()) ++users[pu];
  std::vector<double> shares;
  for (const CpuSet& mask : masks) {
    double share = 0;
    for (const PuOs pu : mask.to_vector()) share += 1.0 / users[pu];
    shares.push_back(share);
  }
  return shares;
}

// Whoever got another's place would have fewer CPUs, and not just because a socket has one less
// than the other. One rank that is bound to nothing among others that are is such a case.
bool is_uneven(std::span<const CpuSet> masks) {
  if (!differ_in_width(masks)) return false;
  if (all_disjoint(masks) || some_overlap(masks)) return true;
  const std::vector<double> shares = shares_of(masks);
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return *most >= kUneven * *least;
}

bool is_inside_node(const Machine& machine, const CpuSet& mask) {
  const NodeIndex node = make_slot(machine, mask).node;
  return std::all_of(machine.pus.begin(), machine.pus.end(),
                     [&](const Pu& pu) { return !mask.test(pu.os) || pu.node == node; });
}

// Whole cores may have more than a rank is to have: it would be dearer to lose again.
CpuSet first_of(const CpuSet& pus, int size) {
  CpuSet first;
  for (const PuOs pu : pus.to_vector())
    if (first.count() < size) first.set(pu);
  return first;
}

SlotSet slots_from_masks(const Machine& machine, const SlotRequest& request,
                         std::span<const CpuSet> masks) {
  SlotSet slots;
  for (const CpuSet& mask : masks) slots.push_back(make_slot(machine, mask));
  if (request.idle.empty()) return slots;
  // No rank comes off worse there than where it is. What it asked for counts where others use its
  // CPUs too; where it has its own, that is what it was given.
  const std::vector<double> shares = shares_of(masks);
  const double most = *std::max_element(shares.begin(), shares.end());
  const int least = all_disjoint(masks) ? 1 : request.cpus_per_task;
  const int size = std::max(least, static_cast<int>(std::ceil(most - kRounding)));
  for (const Slot& more : cut_slots(machine, request.idle, size, true))
    slots.push_back(make_slot(machine, first_of(more.pus, size)));
  return slots;
}

}  // namespace

Result<SlotPlan> plan_slots(const Machine& machine, const SlotRequest& request) {
  if (Status good = check_masks(machine, request); !good) return std::move(good).error();
  const CpuSet known = machine.all_pus();
  std::vector<CpuSet> masks;
  CpuSet all = request.idle & known;
  for (const CpuSet& mask : request.masks) {
    masks.push_back(mask & known);
    all |= masks.back();
  }
  SlotPlan plan;
  plan.machine = restrict_machine(machine, all);
  plan.shared = masks.size() > 1 && all_equal(masks) &&
                !(request.bound && is_inside_node(plan.machine, masks.front()));
  plan.uneven = is_uneven(masks);
  plan.slots = plan.shared
                   ? slots_from_shared_mask(plan.machine, all, static_cast<int>(masks.size()),
                                            request.cpus_per_task)
                   : slots_from_masks(plan.machine, request, masks);
  plan.oversubscribed = has_repeated_pu(plan.slots) &&
                        (plan.shared || masks.size() > static_cast<std::size_t>(all.count()));
  // Slots to spare behind a shared mask are in all nodes alike, not in the last ones.
  const std::size_t dealt = plan.shared ? plan.slots.size() : masks.size();
  for (std::size_t i = 0; i < masks.size(); ++i)
    plan.initial.emplace_back(static_cast<int>(i * dealt / masks.size()));
  return plan;
}

}  // namespace ondeloc
