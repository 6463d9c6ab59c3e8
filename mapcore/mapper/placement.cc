// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/binder.h"
#include "mapcore/binding/memory.h"
#include "mapcore/binding/proc.h"
#include "mapcore/mapper/room.h"

namespace ondeloc {
namespace {

std::vector<CpuSet> initial_masks(const Ranks& ranks) {
  std::vector<CpuSet> masks;
  for (const RankState& state : ranks.all()) masks.push_back(state.initial);
  return masks;
}

// The cpuset that the kernel holds the step in; empty where it does not.
CpuSet enforced_cpuset(const Ranks& ranks) {
  for (const RankState& state : ranks.all()) {
    if (state.ended) continue;
    const auto step = read_step_cpuset(state.attached() ? state.process : state.task);
    return step && step->enforced ? step->cpus : CpuSet();
  }
  return {};
}

// True when a core is used with fewer threads than the cpuset has of it: --threads-per-core=1,
// --hint=nomultithread. Idle siblings are then not ours to use.
bool is_one_thread_per_core(const Machine& machine, const CpuSet& used, const CpuSet& cpuset) {
  std::set<int> cores_in_use;
  for (const Pu& pu : machine.pus) {
    if (used.test(pu.os)) cores_in_use.insert(pu.at(Level::kCore));
  }
  return std::any_of(machine.pus.begin(), machine.pus.end(), [&](const Pu& pu) {
    return pu.at(Level::kCore) >= 0 && cores_in_use.contains(pu.at(Level::kCore)) &&
           cpuset.test(pu.os) && !used.test(pu.os);
  });
}

CpuSet idle_cpus(const Machine& machine, const std::vector<CpuSet>& masks, const CpuSet& cpuset) {
  CpuSet used;
  for (const CpuSet& mask : masks) used |= mask;
  if (cpuset.empty() || is_one_thread_per_core(machine, used, cpuset)) return {};
  return (cpuset & machine.all_pus()) - used;
}

bool decide_memory(const Machine& machine, Memory memory, bool real, std::set<std::string>& notes) {
  const auto real_nodes = std::count_if(machine.nodes.begin(), machine.nodes.end(),
                                        [](const NumaNode& node) { return node.os >= 0; });
  if (!real || memory == Memory::kStay || real_nodes < 2) {
    if (real && memory == Memory::kStay && real_nodes > 1) {
      notes.insert(
          "memory=stay: pages stay where they were first touched; moving a rank relieves caches, "
          "not memory controllers");
    }
    return false;
  }
  if (memory == Memory::kAuto && numa_balancing_on()) {
    notes.insert(
        "kernel.numa_balancing is on: pages are left to the kernel (memory=follow moves them with "
        "their rank)");
    return false;
  }
  return true;
}

}  // namespace

Result<Placement> Placement::plan(const Machine& machine, Ranks& ranks, int cpus_per_task,
                                  Memory memory, bool real) {
  Placement placement;
  const std::vector<CpuSet> masks = initial_masks(ranks);
  placement.planned_for_ = enforced_cpuset(ranks);
  // Shrunk since Slurm bound the tasks: the next look at the cpuset finds that.
  if (!placement.planned_for_.empty()) {
    for (const CpuSet& mask : masks) placement.planned_for_ |= mask;
  }
  auto slots = plan_slots(machine, {masks, std::max(1, cpus_per_task),
                                    idle_cpus(machine, masks, placement.planned_for_)});
  if (!slots) return std::move(slots).error();
  placement.plan_ = *std::move(slots);
  placement.current_ = placement.plan_.initial;
  placement.cpus_per_task_ = std::max(1, cpus_per_task);
  placement.bound_ = masks;
  placement.left_.resize(masks.size());
  placement.newcomer_.assign(masks.size(), placement.plan_.shared);
  placement.met_.assign(masks.size(), false);
  placement.put_back_.assign(masks.size(), false);
  placement.migrations_.assign(masks.size(), 0);
  placement.memory_ = memory;
  placement.real_ = real;
  placement.memory_follows_ =
      decide_memory(placement.plan_.machine, memory, real, placement.notes_);
  if (placement.plan_.uneven) {
    placement.notes_.insert(
        "the ranks have CPUs in different numbers: none can take another's place, so "
        "nobody is moved");
    placement.keep_bindings();
  }
  if (placement.plan_.oversubscribed)
    placement.notes_.insert("oversubscribed: more ranks than CPUs, CPUs are shared");
  if (placement.plan_.machine.nodes.size() < 2) {
    placement.notes_.insert("the step has one NUMA node: no placement is better than another");
  }
  return placement;
}

void Placement::keep_bindings() {
  keeps_ = true;
  newcomer_.assign(newcomer_.size(), false);
  if (plan_.shared)
    notes_.insert(
        "the ranks are not bound and stay so: remote share, peak load and cost are those of the "
        "binding that the first look would give them");
}

const CpuSet& Placement::cpus_of(LocalRank rank) const {
  const SlotIndex slot = current_[static_cast<std::size_t>(rank.value)];
  return plan_.slots[static_cast<std::size_t>(slot.value)].pus;
}

void Placement::note_failures(WorldRank rank, const BindResult& result) {
  if (result.failed > 0) {
    notes_.insert(fmt::format("rank {}: threads could not be bound: {}", rank.value,
                              std::strerror(result.error)));
  }
  if (result.left_alone > 0) {
    notes_.insert(fmt::format(
        "rank {}: it has threads with a binding of their own; they were left alone", rank.value));
  }
}

bool Placement::move(LocalRank rank, RankState& state, const CpuSet& to) {
  const auto i = static_cast<std::size_t>(rank.value);
  const BindResult result = move_process(state.process, bound_[i], to);
  note_failures(state.world, result);
  const bool bound = result.moved > 0 || result.failed == 0;
  if (bound) {
    bound_[i] = to;
    left_[i] = CpuSet();
  }
  newcomer_[i] = !bound;
  return bound;
}

// Without its CPUs: one that binds itself all the time is not to fill the report.
void Placement::note_replaced(std::size_t at, WorldRank rank) {
  put_back_[at] = true;
  notes_.insert(fmt::format(
      "rank {}: it had a binding of its own (by a wrapper, its runtime or itself): it was replaced",
      rank.value));
}

void Placement::bind_newcomer(LocalRank rank, RankState& state) {
  const auto at = static_cast<std::size_t>(rank.value);
  put_back_one(rank, state);
  const auto mask = get_affinity(state.process);
  if (mask && !(*mask == bound_[at])) note_replaced(at, state.world);
  move(rank, state, cpus_of(rank));
}

void Placement::put_back_one(LocalRank rank, const RankState& state) {
  const auto at = static_cast<std::size_t>(rank.value);
  const auto mask = get_affinity(state.process);
  if (!mask) return;
  left_[at] = mask->is_subset_of(bound_[at]) ? CpuSet() : *mask;
  if (left_[at].empty() || keeps_) return;
  if (put_back_[at]) {
    notes_.insert(fmt::format(
        "rank {}: it binds itself again after it was put back: it is left alone until it is "
        "moved next",
        state.world.value));
    return;
  }
  const BindResult result = move_process(state.process, *mask, bound_[at]);
  note_failures(state.world, result);
  if (result.moved == 0) return;
  note_replaced(at, state.world);
  left_[at] = CpuSet();
}

void Placement::meet_newcomers(Ranks& ranks) {
  for (int i = 0; i < ranks.count(); ++i) {
    RankState& state = ranks.at(LocalRank(i));
    const auto at = static_cast<std::size_t>(i);
    if (!state.movable()) continue;
    if (newcomer_[at])
      bind_newcomer(LocalRank(i), state);
    else if (!met_[at])
      put_back_one(LocalRank(i), state);
    met_[at] = true;
  }
}

void Placement::put_back(Ranks& ranks) {
  for (int i = 0; i < ranks.count(); ++i) {
    const RankState& state = ranks.at(LocalRank(i));
    const auto at = static_cast<std::size_t>(i);
    if (state.movable() && !newcomer_[at]) put_back_one(LocalRank(i), state);
  }
}

bool Placement::changes(const Mapping& wanted) const {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto to = static_cast<std::size_t>(wanted[i].value),
               from = static_cast<std::size_t>(current_[i].value);
    if (!(plan_.slots[to].pus == plan_.slots[from].pus)) return true;
  }
  return false;
}

Mapping Placement::without_fixed(Mapping wanted, const Ranks& ranks) const {
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    const RankState& state = ranks.all()[at];
    if (state.movable() || state.done()) continue;
    const auto comes = std::find(wanted.begin(), wanted.end(), current_[at]);
    if (comes != wanted.end()) *comes = wanted[at];
    wanted[at] = current_[at];
  }
  return wanted;
}

bool Placement::pages_fit(const Mapping& wanted, std::span<const double> bytes) const {
  std::vector<PageFlow> flows;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == 0) continue;
    const Home from = home_of(current_[at]), to = home_of(wanted[at]);
    const auto share =
        static_cast<std::uint64_t>(bytes[at]) / std::max<std::size_t>(1, from.all.size());
    for (const NodePair& nodes : node_pairs(from.all, to.all))
      flows.push_back({nodes.from, nodes.to, share});
  }
  return all_can_move(flows, room_for_pages);
}

void Placement::follow_with_pages(const Ranks& ranks) {
  if (!page_moves_.empty()) page_moves_.run(ranks, notes_);
}

Placement::Home Placement::home_of(SlotIndex index) const {
  const Slot& slot = plan_.slots[static_cast<std::size_t>(index.value)];
  return {plan_.machine.nodes[static_cast<std::size_t>(slot.node.value)].os,
          nodes_under(plan_.machine, slot.pus)};
}

void Placement::count_move(std::size_t at, const Home& from, ApplyResult& result) {
  const LocalRank rank(static_cast<int>(at));
  result.moved.push_back(rank);
  const Home to = home_of(current_[at]);
  if (from.node != to.node) ++migrations_[at];
  if (memory_follows_) page_moves_.add(rank, from.all, to.all);
}

ApplyResult Placement::apply(const Mapping& wanted, Ranks& ranks) {
  ApplyResult result;
  for (int i = 0; i < ranks.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Slot& from = plan_.slots[static_cast<std::size_t>(current_[at].value)];
    const Slot& to = plan_.slots[static_cast<std::size_t>(wanted[at].value)];
    const Home home = from.pus == to.pus ? Home{} : home_of(current_[at]);
    current_[at] = wanted[at];
    put_back_[at] = false;
    RankState& state = ranks.at(LocalRank(i));
    if (from.pus == to.pus) continue;
    if (!state.movable()) {
      newcomer_[at] = !state.done();  // its slot is another rank's now: bound when it attaches
      continue;
    }
    put_back_one(LocalRank(i), state);
    if (move(LocalRank(i), state, to.pus)) count_move(at, home, result);
  }
  follow_with_pages(ranks);
  return result;
}

bool Placement::cpuset_changed(const Ranks& ranks) const {
  if (planned_for_.empty() || keeps_) return false;
  const CpuSet now = enforced_cpuset(ranks);
  return !now.empty() && !(now == planned_for_);
}

std::optional<ApplyResult> Placement::follow_cpuset(const Machine& machine, Ranks& ranks) {
  const CpuSet now = enforced_cpuset(ranks);
  if (now.empty()) return std::nullopt;
  std::vector<CpuSet> masks = initial_masks(ranks);
  CpuSet all;
  for (const CpuSet& mask : masks) all |= mask;
  // With all its CPUs back the step is as Slurm made it; with fewer, the ranks share what is left.
  const CpuSet left = (all & now).empty() ? now : all & now;
  if (!all.is_subset_of(now)) std::fill(masks.begin(), masks.end(), left);
  auto slots = plan_slots(machine, {masks, cpus_per_task_, idle_cpus(machine, masks, now)});
  if (!slots) return std::nullopt;  // at the next look perhaps
  planned_for_ = now;
  std::vector<Home> homes;
  for (std::size_t at = 0; at < current_.size(); ++at) homes.push_back(home_of(current_[at]));
  plan_ = *std::move(slots);
  current_ = plan_.initial;
  memory_follows_ = decide_memory(plan_.machine, memory_, real_, notes_);
  if (!memory_follows_) page_moves_.clear();
  ApplyResult result;
  notes_.insert("the step's CPUs changed while it ran: ranks were placed again");
  for (int i = 0; i < ranks.count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    RankState& state = ranks.at(LocalRank(i));
    // The kernel has changed the masks itself; what they are now is where threads are moved from.
    const auto mask = get_affinity(state.attached() ? state.process : state.task);
    if (mask) bound_[at] = left_of_slot(bound_[at], now, *mask);
    left_[at] = CpuSet();
    newcomer_[at] = !state.attached();  // bound when it attaches, not put back where it was
    if (state.movable() && move(LocalRank(i), state, cpus_of(LocalRank(i))))
      count_move(at, homes[at], result);
  }
  follow_with_pages(ranks);
  return result;
}

}  // namespace ondeloc
