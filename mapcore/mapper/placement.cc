// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mapcore/base/text.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/decide/migration.h"
#include "mapcore/map/shared_slots.h"
#include "mapcore/mapper/free_memory.h"
#include "mapcore/mapper/step_cpus.h"

namespace ondeloc {
namespace {

std::string note_of_oversubscription(const SlotPlan& plan, std::size_t ranks) {
  const bool by_cache = shares_caches(plan.machine, plan.machine.all_pus());
  const char* consequence =
      plan.uneven || (plan.machine.nodes.size() < 2 && !by_cache)
          ? "ranks keep the CPUs that Slurm gave them"
      : by_cache ? "each rank is bound to all of the step's CPUs at a last-level cache"
                 : "each rank is bound to all of the step's CPUs in a NUMA node";
  const auto cpus = static_cast<std::size_t>(plan.machine.all_pus().count());
  return fmt::format("oversubscribed: {} share {}; {}", counted(ranks, "rank"),
                     counted(cpus, "CPU"), consequence);
}

// True if two slots are on one core or one L2: with weight=messages or time, ranks on one core are
// nearer to each other than to the rest.
bool some_share_cores(const SlotSet& slots) {
  std::set<std::pair<int, int>> seen;
  for (const Slot& slot : slots) {
    if (slot.seat.core >= 0 && !seen.insert({0, slot.seat.core}).second) return true;
    if (slot.seat.l2 >= 0 && !seen.insert({1, slot.seat.l2}).second) return true;
  }
  return false;
}

}  // namespace

Placement::Pages Placement::pages_after_moves() {
  const auto real_nodes = std::count_if(plan_.machine.nodes.begin(), plan_.machine.nodes.end(),
                                        [](const NumaNode& node) { return node.os >= 0; });
  if (!real_ || real_nodes < 2) return Pages::kStay;
  if (memory_ == Memory::kStay) {
    notes_.add(
        "memory=stay: pages stay where they were first touched; moving a rank relieves caches, "
        "not memory controllers");
    return Pages::kStay;
  }
  const bool follows = memory_ == Memory::kFollow || pages_ == Pages::kFollow;
  return follows ? Pages::kFollow : Pages::kLater;
}

Result<Placement> Placement::plan(const Machine& machine, Ranks& ranks, int cpus_per_task,
                                  Memory memory, bool real) {
  Placement placement;
  const std::vector<CpuSet> masks = initial_masks(ranks);
  placement.planned_for_ = enforced_cpuset(ranks);
  // If the cpuset has shrunk since Slurm bound the tasks, the next look at it finds the change.
  if (!placement.planned_for_.empty()) {
    for (const CpuSet& mask : masks) placement.planned_for_ |= mask;
  }
  placement.cpus_per_task_ = std::max(1, cpus_per_task);
  auto slots = plan_slots(machine, {masks, placement.cpus_per_task_,
                                    idle_cpus(machine, masks, placement.planned_for_)});
  if (!slots) return std::move(slots).error();
  placement.plan_ = *std::move(slots);
  placement.current_ = placement.plan_.initial;
  placement.bindings_ = RankBindings(masks);
  placement.note_starts(machine.all_pus());
  placement.memory_ = memory;
  placement.real_ = real;
  placement.pages_ = placement.pages_after_moves();
  placement.add_plan_notes(masks.size());
  return placement;
}

void Placement::note_starts(const CpuSet& known) {
  for (const LocalRank rank : current_.ids()) {
    RankBinding& binding = bindings_[rank];
    binding.start = cpus_of(rank);
    binding.needs_bind = !(binding.start == (binding.expected & known));
  }
}

void Placement::start_allowed(AllowedCpus allowed, bool has_unknown) {
  allowed_ = std::move(allowed);
  if (allowed_.empty() || !plan_.shared || keeps_bindings()) return;
  if (has_unknown && plan_.machine.nodes.size() > 1) {
    notes_.add(
        "Slurm left the ranks unbound, and ondeloc does not know which GPU each of them uses: it "
        "binds no rank, so that none is bound away from its GPU");
    keep_bindings();
    return;
  }
  current_ = plan_.initial = keep_allowed(current_, current_, plan_.slots, allowed_);
  note_starts(plan_.machine.all_pus());
}

void Placement::add_plan_notes(std::size_t ranks) {
  if (plan_.uneven) {
    notes_.add(
        "the ranks have CPUs in different numbers: none can take another's place, so "
        "no rank is moved");
    keep_bindings();
  }
  if (plan_.oversubscribed) notes_.add(note_of_oversubscription(plan_, ranks));
  if (plan_.machine.nodes.size() < 2 && !plan_.machine.splits_nodes() &&
      !some_share_cores(plan_.slots))
    notes_.add(
        "the step has one NUMA node and no choice of caches: no placement is better than another");
}

void Placement::keep_bindings() {
  bindings_.freeze();
  if (plan_.shared)
    notes_.add(
        "Slurm left the ranks unbound and ondeloc does not bind them: remote share, peak load and "
        "cost are those of the binding that the first decision would give them");
}

void Placement::bind_attached_ranks(Ranks& ranks) {
  bindings_.bind_attached(
      ranks, [this](LocalRank rank) -> const CpuSet& { return cpus_of(rank); }, notes_);
}

bool Placement::changes(const Mapping& wanted) const {
  return changes_cpus(plan_.slots, current_, wanted);
}

bool Placement::is_pinned(LocalRank rank, const Ranks& ranks) const {
  const RankState& state = ranks.at(rank);
  return !state.left() && (!state.movable() || bindings_[rank].stuck);
}

Mapping Placement::without_pinned(Mapping wanted, const Ranks& ranks) const {
  for (const LocalRank rank : wanted.ids()) {
    if (!is_pinned(rank, ranks)) continue;
    const auto comes = std::find(wanted.begin(), wanted.end(), current_[rank]);
    if (comes != wanted.end()) *comes = wanted[rank];
    wanted[rank] = current_[rank];
  }
  return keep_allowed(wanted, current_, plan_.slots, constraints(ranks));
}

AllowedCpus Placement::constraints(const Ranks& ranks) const {
  AllowedCpus allowed = allowed_;
  for (const LocalRank rank : allowed.ids())
    if (is_pinned(rank, ranks)) allowed[rank] = cpus_of(rank);
  return allowed;
}

bool Placement::pages_fit(const Mapping& before, const Mapping& wanted,
                          std::span<const FollowingMemory> memory) const {
  std::vector<PageFlow> flows;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (memory[i].bytes == 0) continue;
    const LocalRank rank(static_cast<int>(i));
    const Home from = home_of(before, rank), to = home_of(wanted, rank);
    const auto share =
        static_cast<std::uint64_t>(memory[i].bytes) / std::max<std::size_t>(1, from.all.size());
    for (const NodePair& nodes : node_pairs(from.all, to.all))
      flows.push_back({nodes.from, nodes.to, share});
  }
  return all_can_move(flows, room_for_pages);
}

void Placement::follow_with_pages(const Ranks& ranks) {
  if (!has_left_ && !page_moves_.empty()) page_moves_.run(ranks, notes_);
}

void Placement::let_memory_follow() {
  pages_ = Pages::kFollow;
  notes_.add("pages follow moved ranks, because the predicted gain was not seen without them");
}

void Placement::bring_left_memory(const Ranks& ranks) {
  let_memory_follow();
  has_left_ = false;
  follow_with_pages(ranks);
}

void Placement::bring_pages(LocalRank rank, std::span<const int> from) {
  if (memory_follows()) page_moves_.add(rank, from, home_of(current_, rank).all);
}

Placement::Home Placement::home_of(const Mapping& mapping, LocalRank rank) const {
  const Slot& slot = slot_of(mapping, rank);
  return {plan_.machine.nodes[slot.node].os, nodes_under(plan_.machine, slot.pus)};
}

Placement::Homes Placement::homes() const {
  Homes homes;
  for (const LocalRank rank : current_.ids()) homes.push_back(home_of(current_, rank));
  return homes;
}

// `moves`: made, but for those that the kernel refused. `moved`: the ranks that were bound; those
// that go back are taken out of it.
void Placement::put_back(std::span<const RankMove> moves, const Mapping& last, const Ranks& ranks,
                         std::vector<LocalRank>& moved) {
  std::vector<LocalRank> back;
  const auto goes_back = [&](LocalRank rank) {
    return std::find(back.begin(), back.end(), rank) != back.end();
  };
  for (const RankMove& move : moves) {
    RankBinding& binding = bindings_[move.rank];
    if (!binding.needs_bind) continue;
    back.push_back(move.rank);
    binding.stuck = true;
    binding.needs_bind =
        !(slot_of(last, move.rank).pus == (binding.expected & plan_.machine.all_pus()));
  }
  for (std::size_t i = 0; i < back.size(); ++i) {
    current_[back[i]] = last[back[i]];
    for (const LocalRank rank : current_.ids())
      if (current_[rank] == last[back[i]] && !goes_back(rank)) back.push_back(rank);
  }
  if (!back.empty())
    notes_.add(
        "a rank that could not be bound keeps its CPUs until the step's CPUs change, and the rank "
        "that was to get them was not moved");
  std::vector<RankMove> ways;
  for (const LocalRank rank : moved)
    if (goes_back(rank)) ways.push_back({rank, cpus_of(rank)});
  std::erase_if(moved, goes_back);
  (void)bindings_.bind(ways, ranks, notes_);
}

// `before`: the nodes of each rank before the present mapping.
ApplyResult Placement::settle(std::vector<LocalRank> moved, const Homes& before,
                              const Ranks& ranks) {
  ApplyResult result{std::move(moved)};
  has_left_ = !memory_follows();
  for (const LocalRank rank : result.moved) {
    const Home &from = before[rank], to = home_of(current_, rank);
    if (from.node != to.node) ++bindings_[rank].migrations;
    if (pages_ != Pages::kStay) page_moves_.add(rank, from.all, to.all);
  }
  follow_with_pages(ranks);
  return result;
}

ApplyResult Placement::apply(const Mapping& wanted, Ranks& ranks) {
  const Homes before = homes();
  const Mapping last = std::exchange(current_, wanted);
  std::vector<RankMove> moves;
  for (const LocalRank rank : wanted.ids()) {
    bindings_[rank].restored = false;
    if (slot_of(last, rank).pus == cpus_of(rank)) continue;
    const RankState& state = ranks.at(rank);
    if (!state.movable()) {
      // Its slot is another rank's now: it is bound when it attaches.
      bindings_[rank].needs_bind = !state.done();
      continue;
    }
    bindings_.restore_one(rank, state, notes_);
    moves.push_back({rank, cpus_of(rank)});
  }
  std::vector<LocalRank> moved = bindings_.bind(moves, ranks, notes_);
  // The kernel need not have the CPUs of a topology that is not the host's.
  if (real_) put_back(moves, last, ranks, moved);
  return settle(std::move(moved), before, ranks);
}

bool Placement::cpuset_changed(const Ranks& ranks) const {
  if (planned_for_.empty() || keeps_bindings()) return false;
  const CpuSet now = enforced_cpuset(ranks);
  return !now.empty() && !(now == planned_for_);
}

std::optional<SlotPlan> Placement::plan_again(const Machine& machine, const Ranks& ranks,
                                              const CpuSet& cpuset) const {
  std::vector<CpuSet> masks = initial_masks(ranks);
  CpuSet all;
  for (const CpuSet& mask : masks) all |= mask;
  // With all its CPUs back the step is as Slurm made it; with fewer, the ranks share what is left.
  const CpuSet left = (all & cpuset).empty() ? cpuset : all & cpuset;
  if (!all.is_subset_of(cpuset)) std::fill(masks.begin(), masks.end(), left);
  auto slots = plan_slots(machine, {masks, cpus_per_task_, idle_cpus(machine, masks, cpuset)});
  return slots ? std::optional(*std::move(slots)) : std::nullopt;  // the next look tries again
}

std::optional<ApplyResult> Placement::follow_cpuset(const Machine& machine, Ranks& ranks) {
  const CpuSet now = enforced_cpuset(ranks);
  if (now.empty()) return std::nullopt;
  auto plan = plan_again(machine, ranks, now);
  if (!plan) return std::nullopt;
  planned_for_ = now;
  const Homes before = homes();
  plan_ = *std::move(plan);
  current_ = keep_allowed(plan_.initial, plan_.initial, plan_.slots, allowed_);
  pages_ = pages_after_moves();
  if (pages_ == Pages::kStay) page_moves_.clear();
  notes_.add("the step's CPUs changed while the step ran; ondeloc placed the ranks again");
  std::vector<RankMove> moves;
  for (const LocalRank rank : current_.ids()) {
    const RankState& state = ranks.at(rank);
    RankBinding& binding = bindings_[rank];
    // The kernel itself has changed the masks: threads are moved from the masks that they have now.
    const auto mask = get_affinity(state.attached() ? state.process : state.task);
    if (mask) binding.expected = left_of_slot(binding.expected, now, *mask);
    binding.foreign = CpuSet();
    binding.stuck = false;
    binding.needs_bind = !state.attached();  // to its new slot, when it attaches
    if (state.movable()) moves.push_back({rank, cpus_of(rank), now});
  }
  return settle(bindings_.bind(moves, ranks, notes_), before, ranks);
}

}  // namespace ondeloc
