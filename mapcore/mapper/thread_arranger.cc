// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/thread_arranger.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mapcore/map/mapping.h"
#include "mapcore/mapper/rank_list.h"

namespace ondeloc {
namespace {

struct StateText {
  TeamState state;
  const char* text;
};

constexpr StateText kStateTexts[] = {
    {TeamState::kBound, "each thread that computes has CPUs of its own"},
    {TeamState::kAlone,
     "threads were not bound: no two threads of a rank were seen to compute, or "
     "the rank has one CPU"},
    {TeamState::kTooMany, "threads were not bound: more threads compute than the rank has CPUs"},
    {TeamState::kOwnBinding, "threads were left alone: the program binds them (OMP_PROC_BIND?)"},
    {TeamState::kUnsteady, "threads were left alone: they come and go"},
};

bool shares_with_others(const Placement& placement, LocalRank rank) {
  for (const LocalRank other : placement.current().ids())
    if (!(other == rank) && placement.cpus_of(other).intersects(placement.cpus_of(rank)))
      return true;
  return false;
}

bool are_inside(std::span<const CpuSet> seats, const CpuSet& slot) {
  return std::all_of(seats.begin(), seats.end(),
                     [&](const CpuSet& seat) { return seat.is_subset_of(slot); });
}

}  // namespace

ThreadArranger::ThreadArranger(ThreadBinding how, int ranks, std::size_t nodes)
    : how_(how), teams_(static_cast<std::size_t>(ranks)) {
  if (how == ThreadBinding::kSample) sampler_.emplace(ranks, nodes);
}

ThreadArranger::Clock::time_point ThreadArranger::next_look() const {
  return sampler_ ? std::min(next_, sampler_->next_reading()) : next_;
}

void ThreadArranger::note_slots(const Placement& placement) {
  moved_ = false;
  for (const LocalRank rank : teams_.ids()) {
    if (teams_[rank].slot == placement.cpus_of(rank)) continue;
    teams_[rank].slot = placement.cpus_of(rank);
    moved_ = true;
  }
  if (!moved_) return;
  for (const LocalRank rank : teams_.ids())
    teams_[rank].shared = shares_with_others(placement, rank);
}

// A machine whose CPUs have changed numbers its caches anew, and a team that rests keeps its seats
// although its rank was moved away from them.
void ThreadArranger::note_main_seat(LocalRank rank, const Placement& placement) {
  const Slot& slot = placement.slots().slots[placement.current()[rank]];
  const std::vector<CpuSet> seats = teams_[rank].team.seats();
  const bool is_there = !seats.empty() && seats.front().is_subset_of(slot.pus);
  teams_[rank].main =
      is_there ? make_slot(placement.slots().machine, seats.front()).seat : slot.seat;
}

std::vector<Peer> ThreadArranger::peers_of(LocalRank rank, const Counters& counters) const {
  std::vector<Peer> peers;
  for (const LocalRank other : teams_.ids()) {
    if (other == rank) continue;
    const ondeloc_cell to = counters.total(rank.value, other.value),
                       from = counters.total(other.value, rank.value);
    if (to.messages + from.messages == 0) continue;
    peers.push_back({teams_[other].main,
                     static_cast<double>(to.bytes) + static_cast<double>(from.bytes),
                     static_cast<double>(to.messages) + static_cast<double>(from.messages)});
  }
  return peers;
}

std::vector<CpuSet> ThreadArranger::better_seats(LocalRank rank, const Machine& machine,
                                                 const CostModel& model,
                                                 std::span<const CpuSet> seats) {
  if (!sampler_ || teams_[rank].team.state() != TeamState::kBound) return {};
  if (!are_inside(seats, teams_[rank].slot)) return {};
  return sampler_->better_seats(rank, model, machine, seats);
}

bool ThreadArranger::look_at(LocalRank rank, const Placement& placement, const RankState& state,
                             const Counters& counters, const CostModel& model) {
  Team& own = teams_[rank];
  const Machine& machine = placement.slots().machine;
  std::vector<CpuSet> better;
  if (!moved_) better = better_seats(rank, machine, model, own.team.seats());
  const bool again = moved_ || !better.empty();
  const auto seats_for = [&](std::span<const PuOs> last) -> std::vector<CpuSet> {
    if (better.size() != last.size()) {
      auto seats = seat_threads(model, machine, own.slot, last, peers_of(rank, counters),
                                static_cast<int>(teams_.size()));
      if (!seats) return {};
      better = better_seats(rank, machine, model, *seats);
      if (better.empty()) return *std::move(seats);
    }
    sampler_->note_exchange(rank);
    return better;
  };
  const bool changed = own.team.look(state.process, own.slot, seats_for, again);
  const std::vector<CpuSet> seats = own.team.seats();
  note_main_seat(rank, placement);
  const bool matters = are_inside(seats, own.slot) && order_matters(model, machine, seats);
  if (sampler_) sampler_->follow(rank, own.team.members(), matters);
  return changed;
}

void ThreadArranger::look(Clock::time_point now, const Placement& placement, const Ranks& ranks,
                          const Counters& counters, const CostModel& model) {
  if (sampler_) sampler_->read(now);
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(pause_.milliseconds());
  if (placement.keeps_bindings()) return;
  note_slots(placement);
  for (const LocalRank rank : teams_.ids()) note_main_seat(rank, placement);
  bool changed = moved_;
  for (const LocalRank rank : teams_.ids()) {
    const RankState& state = ranks.at(rank);
    const RankBinding& binding = placement.bindings()[rank];
    // Others have bound the rank, or it is not on its slot yet.
    if (!state.movable() || !binding.foreign.empty() || binding.needs_bind) continue;
    if (teams_[rank].shared || teams_[rank].slot.count() < 2) continue;
    changed |= look_at(rank, placement, state, counters, model);
  }
  pause_.step(changed ? NextLook::kSooner : NextLook::kLater);
}

void ThreadArranger::fill(LocalRank rank, ReportRank& line) const {
  for (const CpuSet& cpus : teams_[rank].team.seats()) line.thread_cpus.push_back(cpus.to_list());
  if (sampler_) sampler_->fill(rank, line);
}

std::vector<std::string> ThreadArranger::notes(const Ranks& ranks) const {
  std::vector<std::string> notes;
  for (const StateText& row : kStateTexts) {
    RankList those;
    for (const LocalRank rank : teams_.ids())
      if (teams_[rank].team.state() == row.state) those.add(ranks.at(rank).world);
    if (!those.empty())
      notes.push_back(
          fmt::format("threads={}: ranks {}: {}", enum_name(how_), those.to_list(), row.text));
  }
  if (!sampler_) return notes;
  for (std::string& note : sampler_->notes(ranks)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace ondeloc
