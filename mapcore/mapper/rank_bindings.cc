// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/rank_bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mapcore/binding/affinity.h"

namespace ondeloc {
namespace {

void note_failures(WorldRank rank, const BindResult& result, StepNotes& notes) {
  if (result.failed > 0)
    notes.add(rank, fmt::format("threads could not be bound: {}", std::strerror(result.error)));
  if (result.left_alone > 0)
    notes.add(rank, "some threads have a binding of their own; ondeloc left these threads alone");
}

}  // namespace

RankBindings::RankBindings(const std::vector<CpuSet>& masks) {
  for (const CpuSet& mask : masks) bindings_.push_back({mask, mask, {}});
}

bool RankBindings::any_needs_bind() const {
  return std::any_of(bindings_.begin(), bindings_.end(),
                     [](const RankBinding& binding) { return binding.needs_bind; });
}

void RankBindings::freeze() {
  frozen_ = true;
  for (RankBinding& binding : bindings_) {
    binding.needs_bind = false;
    binding.start = binding.expected;
  }
}

std::vector<LocalRank> RankBindings::bind(std::span<const RankMove> moves, const Ranks& ranks,
                                          StepNotes& notes) {
  std::vector<ProcessMove> processes;
  processes.reserve(moves.size());
  for (const RankMove& move : moves)
    processes.push_back(
        {ranks.at(move.rank).process, bindings_[move.rank].expected, move.to, move.widened});
  const std::vector<BindResult> results = move_processes(processes);
  std::vector<LocalRank> bound;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    RankBinding& binding = bindings_[moves[i].rank];
    note_failures(ranks.at(moves[i].rank).world, results[i], notes);
    binding.needs_bind = results[i].moved == 0 && results[i].failed > 0;
    if (binding.needs_bind) continue;
    binding.expected = moves[i].to;
    binding.foreign = CpuSet();
    bound.push_back(moves[i].rank);
  }
  return bound;
}

// The note does not name the CPUs: a rank that binds itself all the time must not fill the report.
void RankBindings::note_replaced(LocalRank rank, WorldRank world, StepNotes& notes) {
  bindings_[rank].restored = true;
  notes.add(world,
            "a wrapper, the runtime or the program itself chose other CPUs; ondeloc replaced that "
            "binding");
}

void RankBindings::bind_newcomer(LocalRank rank, const Ranks& ranks, const CpuSet& to,
                                 StepNotes& notes) {
  const RankState& state = ranks.at(rank);
  restore_one(rank, state, notes);
  const auto mask = get_affinity(state.process);
  if (mask && !(*mask == bindings_[rank].expected)) note_replaced(rank, state.world, notes);
  const RankMove move{rank, to};
  (void)bind(std::span(&move, 1), ranks, notes);
}

void RankBindings::restore_one(LocalRank rank, const RankState& state, StepNotes& notes) {
  RankBinding& binding = bindings_[rank];
  const auto mask = get_affinity(state.process);
  if (!mask) return;
  binding.foreign = mask->is_subset_of(binding.expected) ? CpuSet() : *mask;
  if (binding.foreign.empty() || frozen_) return;
  if (binding.restored) {
    notes.add(state.world,
              "the program chose other CPUs again after ondeloc had bound it; ondeloc leaves it "
              "alone until its next move");
    return;
  }
  const BindResult result = move_process(state.process, *mask, binding.expected);
  note_failures(state.world, result, notes);
  if (result.moved == 0) return;
  note_replaced(rank, state.world, notes);
  binding.foreign = CpuSet();
}

void RankBindings::bind_attached(Ranks& ranks, const CpusOf& cpus_of, StepNotes& notes) {
  for (const LocalRank rank : bindings_.ids()) {
    const RankState& state = ranks.at(rank);
    if (!state.movable()) continue;
    RankBinding& binding = bindings_[rank];
    if (binding.needs_bind)
      bind_newcomer(rank, ranks, cpus_of(rank), notes);
    else if (!binding.inspected)
      restore_one(rank, state, notes);
    binding.inspected = true;
  }
}

void RankBindings::restore(Ranks& ranks, std::size_t most, StepNotes& notes) {
  for (std::size_t i = 0; i < std::min(most, bindings_.size()); ++i) {
    const LocalRank rank(static_cast<int>(next_restored_));
    next_restored_ = (next_restored_ + 1) % bindings_.size();
    const RankState& state = ranks.at(rank);
    if (state.movable() && !bindings_[rank].needs_bind) restore_one(rank, state, notes);
  }
}

}  // namespace ondeloc
