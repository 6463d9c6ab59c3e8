// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "mapcore/map/shared_slots.h"

namespace ondeloc {
namespace {

constexpr double kUneven = 2;  // times as many CPUs; an odd core in a socket makes less
constexpr double kRounding = 1e-9;

using Unit = std::vector<PuOs>;  // the PUs that are dealt out together: one core, or one PU

// Returns the units among the wanted PUs, in logical order. A PU without a core is a core of its
// own.
template <typename IsWanted>
std::vector<Unit> units_of(const Machine& machine, const CpuSet& pus, bool whole_cores,
                           IsWanted is_wanted) {
  std::vector<Unit> units;
  std::map<int, std::size_t> unit_of_core;
  for (const Pu& pu : machine.pus) {
    if (!is_wanted(pu) || !pus.test(pu.os)) continue;
    const int core = pu.at(Level::kCore);
    const auto known = unit_of_core.find(core);
    if (whole_cores && core >= 0 && known != unit_of_core.end()) {
      units[known->second].push_back(pu.os);
    } else {
      unit_of_core[core] = units.size();
      units.push_back({pu.os});
    }
  }
  // Complete cores come first. Cores with one thread outside the cpuset only fill up.
  std::stable_sort(units.begin(), units.end(),
                   [](const Unit& a, const Unit& b) { return a.size() > b.size(); });
  return units;
}

// Takes units from the front until `size` PUs are together. Returns an empty set if there are not
// enough PUs.
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

// Cuts slots that lie inside one node each. Units that remain in the nodes go to `leftovers`.
SlotSet cut_inside_nodes(const Machine& machine, const CpuSet& pus, int size, bool whole_cores,
                         std::vector<Unit>& leftovers) {
  SlotSet slots;
  for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
    auto units = units_of(machine, pus, whole_cores,
                          [k](const Pu& pu) { return pu.node.value == static_cast<int>(k); });
    deal(machine, units, size, slots);
    leftovers.insert(leftovers.end(), units.begin(), units.end());
  }
  return slots;
}

// Cuts slots that lie inside one last-level cache each, in the order of the caches. PUs that remain
// go to `rest`.
SlotSet cut_inside_llcs(const Machine& machine, const CpuSet& pus, int size, bool whole_cores,
                        CpuSet& rest) {
  SlotSet slots;
  for (std::size_t c = 0; c < machine.llcs.size(); ++c) {
    auto units = units_of(machine, pus, whole_cores,
                          [c](const Pu& pu) { return pu.llc.value == static_cast<int>(c); });
    deal(machine, units, size, slots);
    for (const Unit& unit : units)
      for (const PuOs pu : unit) rest.set(pu);
  }
  return slots;
}

int widest_of(const SlotSet& slots) {
  int most = 0;
  for (const Slot& slot : slots) most = std::max(most, slot.pus.count());
  return most;
}

// Leaves narrow slots out. A core with one thread outside `pus` makes a slot that is narrower than
// others. Such a slot is left out if its node has complete slots and at least n slots remain.
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

// The order in which slots of hardware threads are kept if there are more than n. Every core has
// one slot before any core has two. The slots with the same round are kept in proportion from all
// nodes.
struct KeepOrder {
  std::size_t round = 0;  // slots before this slot on its core
  double share = 0;       // part of the node's slots of this round that come before
  std::size_t slot = 0;
  bool operator<(const KeepOrder& other) const {
    return std::tie(round, share, slot) < std::tie(other.round, other.share, other.slot);
  }
};

std::vector<KeepOrder> keep_order_of(const Machine& machine, const SlotSet& slots) {
  std::map<PuOs, int> core_of;
  for (const Pu& pu : machine.pus) core_of[pu.os] = pu.at(Level::kCore);
  std::vector<KeepOrder> order;
  std::map<std::pair<int, int>, std::size_t> of_core;          // node, core
  std::map<std::pair<int, std::size_t>, std::size_t> of_node;  // node, round
  for (const Slot& slot : slots) {
    const int core = core_of[PuOs(slot.pus.first())], node = slot.node.value;
    const std::size_t round = core < 0 ? 0 : of_core[{node, core}]++;
    order.push_back({round, static_cast<double>(of_node[{node, round}]++), order.size()});
  }
  for (KeepOrder& at : order)
    at.share /= static_cast<double>(of_node[{slots[at.slot].node.value, at.round}]);
  return order;
}

SlotSet without_doubled(const Machine& machine, const SlotSet& slots, std::size_t n) {
  if (slots.size() <= n) return slots;
  std::vector<KeepOrder> order = keep_order_of(machine, slots);
  std::sort(order.begin(), order.end());
  order.resize(n);
  std::sort(order.begin(), order.end(),
            [](const KeepOrder& a, const KeepOrder& b) { return a.slot < b.slot; });
  SlotSet kept;
  for (const KeepOrder& at : order) kept.push_back(slots[at.slot]);
  return kept;
}

}  // namespace

CpuSet idle_pus(const Machine& machine, const CpuSet& used, const CpuSet& allowed) {
  std::map<int, int> used_of_core;
  int most = 0;
  for (const Pu& pu : machine.pus)
    if (used.test(pu.os)) most = std::max(most, ++used_of_core[pu.at(Level::kCore)]);
  std::map<int, int> idle_of_core;
  CpuSet idle;
  for (const Pu& pu : machine.pus) {
    const int core = pu.at(Level::kCore);
    if (used.test(pu.os) || !allowed.test(pu.os)) continue;
    if (core >= 0 && (used_of_core.contains(core) || ++idle_of_core[core] > most)) continue;
    idle.set(pu.os);
  }
  return idle;
}

SlotSet cut_slots(const Machine& machine, const CpuSet& pus, int size, bool whole_cores) {
  std::vector<Unit> leftovers;
  SlotSet plain = cut_inside_nodes(machine, pus, size, whole_cores, leftovers);
  deal(machine, leftovers, size, plain);
  if (!machine.splits_nodes()) return plain;
  // Slots are cut inside the caches first. The PUs left over are cut inside the nodes, and the rest
  // anywhere.
  CpuSet rest;
  leftovers.clear();
  SlotSet slots = cut_inside_llcs(machine, pus, size, whole_cores, rest);
  const SlotSet beside = cut_inside_nodes(machine, rest, size, whole_cores, leftovers);
  slots.insert(slots.end(), beside.begin(), beside.end());
  deal(machine, leftovers, size, slots);
  return slots.size() < plain.size() ? plain : slots;
}

namespace {

void keep_spread(SlotSet& slots, std::size_t n) {
  if (slots.size() > n) slots = spread_slots(slots, static_cast<int>(n));
}

// Cuts slots so that n ranks cross as few borders as possible: slots inside the caches, then only
// as many as are missing inside the nodes, then only as many as are missing across nodes.
SlotSet enough_slots(const Machine& machine, const CpuSet& pus, int size, bool whole_cores,
                     std::size_t n) {
  CpuSet rest;
  SlotSet slots = cut_inside_llcs(machine, pus, size, whole_cores, rest);
  if (slots.size() >= n) return slots;
  std::vector<Unit> leftovers;
  SlotSet beside = cut_inside_nodes(machine, rest, size, whole_cores, leftovers);
  if (slots.size() + beside.size() < n) {
    std::vector<Unit> left_of_nodes;
    SlotSet inside = cut_inside_nodes(machine, pus, size, whole_cores, left_of_nodes);
    if (inside.size() >= n) return inside;
  }
  keep_spread(beside, n - slots.size());
  slots.insert(slots.end(), beside.begin(), beside.end());
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.node < b.node; });
  if (slots.size() == n) return slots;
  SlotSet across;
  deal(machine, leftovers, size, across);
  if (slots.size() + across.size() < n) return cut_slots(machine, pus, size, whole_cores);
  keep_spread(across, n - slots.size());
  slots.insert(slots.end(), across.begin(), across.end());
  return slots;
}

}  // namespace

SlotSet slots_for(const Machine& machine, const CpuSet& pus, int ranks, int cpus_per_task) {
  if (ranks < 1) return {};
  const auto n = static_cast<std::size_t>(ranks);
  // A rank gets whole cores as long as every rank can. No two ranks share a core while another core
  // is idle.
  for (int size = std::min(cpus_per_task, pus.count() / ranks); size >= 1; --size) {
    const SlotSet slots = enough_slots(machine, pus, size, true, n);
    if (slots.size() >= n) return without_narrow(slots, n);
    const SlotSet threads = enough_slots(machine, pus, size, false, n);
    if (threads.size() >= n) return without_doubled(machine, threads, n);
  }
  return shared_slots(machine, pus, ranks, 1);
}

SlotSet spread_slots(const SlotSet& slots, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  if (n >= slots.size()) return slots;
  SlotSet kept;
  for (std::size_t i = 0; i < n; ++i) kept.push_back(slots[i * slots.size() / n]);
  return kept;
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

// Together the ranks had all these PUs, so few PUs should be idle because ranks are bound. If the
// user asked for several CPUs per rank, a rank gets more CPUs if these are inside a node, else the
// CPUs asked for. A cpus_per_task of 1 may be a default. If cpus_per_task exceeds the PUs per rank,
// each rank gets fewer anyway.
SlotSet slots_from_shared_mask(const Machine& machine, const CpuSet& pus, int ranks,
                               int cpus_per_task) {
  const int most = pus.count() / ranks;
  const bool said = cpus_per_task > 1;
  const int least =
      said && cpus_per_task <= most ? cpus_per_task + 1 : std::max(2, (3 * most + 3) / 4);
  for (int size = most; size >= least && machine.splits_nodes(); --size) {
    CpuSet rest;
    SlotSet slots = cut_inside_llcs(machine, pus, size, true, rest);
    if (slots.size() >= static_cast<std::size_t>(ranks)) return slots;
  }
  for (int size = most; size >= least; --size) {
    std::vector<Unit> leftovers;
    SlotSet slots = cut_inside_nodes(machine, pus, size, true, leftovers);
    if (slots.size() >= static_cast<std::size_t>(ranks)) return slots;
  }
  return pus.count() < ranks ? whole_node_slots(machine, pus, ranks)
                             : slots_for(machine, pus, ranks, said ? cpus_per_task : most);
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

// Returns the CPUs of each rank if ranks that share a CPU have equal parts of it.
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

// True if some rank in another rank's place would have fewer CPUs, and not just because a socket
// has one core less than another. One unbound rank among bound ranks is such a case.
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

// Returns the first `size` PUs. Whole cores may have more PUs than a rank should have, and losing
// these again would cost more.
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
  // A rank in such a slot has no fewer CPUs than in its present place. If other ranks use a rank's
  // CPUs too, the number of CPUs that the rank asked for counts. If each rank has CPUs of its own,
  // these are the CPUs that it was given.
  const std::vector<double> shares = shares_of(masks);
  const double most = *std::max_element(shares.begin(), shares.end());
  const int least = all_disjoint(masks) ? 1 : request.cpus_per_task;
  const int size = std::max(least, static_cast<int>(std::ceil(most - kRounding)));
  for (const Slot& more : cut_slots(machine, request.idle, size, true))
    slots.push_back(make_slot(machine, first_of(more.pus, size)));
  return slots;
}

bool is_inside_cache(const Machine& machine, const CpuSet& mask) {
  return std::any_of(machine.llcs.begin(), machine.llcs.end(),
                     [&](const Llc& llc) { return mask.is_subset_of(llc.pus); });
}

// With one node of one cache nothing would be gained, so the ranks keep the masks that Slurm gave
// them.
void widen_to_nodes(SlotPlan& plan) {
  if (shares_caches(plan.machine, plan.machine.all_pus())) {
    for (Slot& slot : plan.slots)
      if (is_inside_cache(plan.machine, slot.pus))
        slot = make_slot(plan.machine, plan.machine.llcs[slot.seat.llc].pus);
    return;
  }
  if (plan.machine.nodes.size() < 2) return;
  for (Slot& slot : plan.slots) {
    if (is_inside_node(plan.machine, slot.pus)) slot.pus = plan.machine.nodes[slot.node].pus;
  }
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
  // `ondeloc map` spreads in the same way. The cost model does not know what ranks in one cache or
  // on one node take from each other, so that it would pack them.
  if (plan.shared && plan.machine.llcs.size() > 1)
    plan.slots = spread_slots(plan.slots, static_cast<int>(masks.size()));
  plan.oversubscribed = masks.size() > static_cast<std::size_t>(all.count());
  if (plan.oversubscribed && !plan.shared && !request.bound) widen_to_nodes(plan);
  // If ranks share a mask, the spare slots are spread over all nodes, not only in the last nodes.
  const std::size_t dealt = plan.shared ? plan.slots.size() : masks.size();
  for (std::size_t i = 0; i < masks.size(); ++i)
    plan.initial.emplace_back(static_cast<int>(i * dealt / masks.size()));
  return plan;
}

}  // namespace ondeloc
