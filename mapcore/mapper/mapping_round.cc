// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/mapping_round.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "mapcore/mapper/cpu_seconds.h"
#include "mapcore/mapper/report_levels.h"

namespace ondeloc {
namespace {

// Share of the time that moves have to promise with memory=auto, if they leave memory behind. In
// the lab three moves that promised 2 to 4 % without their memory made steps 16 to 42 % longer, and
// one that promised 8 % gained nothing. Three that promised 11 to 56 % gained.
constexpr double kWorthLeaving = 0.1;

DeciderOptions decider_options(const Options& options) {
  return {.threshold = options.threshold,
          .least_gain = options.least_gain,
          .interval = {1e-3 * options.interval_ms, 1e-3 * options.max_interval_ms, options.slope},
          .rule = options.decide};
}

void note_decision(const Decision& decision, ReportInterval& line) {
  line.decision = name_of(decision.kind);
  line.gain = decision.gain;
  line.threshold = decision.threshold;
  line.migration = decision.migration;
  line.horizon = decision.horizon;
  line.ledger = decision.ledger;
}

std::optional<SlotIndex> free_slot(const SlotSet& slots,
                                   const IndexedVector<SlotIndex, char>& taken,
                                   const CpuSet& cpus) {
  for (const SlotIndex index : slots.ids())
    if (taken[index] == 0 && slots[index].pus == cpus) return index;
  return std::nullopt;
}

}  // namespace

MappingRound::MappingRound(const Options& options, const Machine& whole, Placement& placement,
                           Ranks& ranks, const MachineFile* measured)
    : options_(options),
      whole_(whole),
      placement_(placement),
      ranks_(ranks),
      measured_(measured),
      model_(model_of_step()),
      decider_(decider_options(options)),
      only_watches_(options.mode == Mode::kOnline && options.decide == Decide::kNever &&
                    !placement.keeps_bindings()) {}

CostModel MappingRound::model_of_step() const {
  CostOverrides overrides;
  overrides.weight = options_.weight;
  overrides.measured = measured_;
  const Machine& machine = placement_.slots().machine;
  CostModel model = CostModel::from(machine, overrides);
  model.adapters = fixed_adapters(machine, model.penalty, adapter_of_);
  return model;
}

void MappingRound::try_moves() {
  DeciderOptions tried = decider_options(options_);
  tried.tries = true;
  decider_ = Decider(tried);
}

void MappingRound::use_adapters(std::vector<std::optional<std::size_t>> adapter_of) {
  if (adapter_of == adapter_of_) return;
  adapter_of_ = std::move(adapter_of);
  model_ = model_of_step();
  known_.forget();
}

// Memory of the ranks that would move. Asking for that of all ranks takes longer than the rest of
// an interval.
std::vector<FollowingMemory> MappingRound::memory_of_moved(const Mapping& from, const Mapping& to) {
  std::vector<FollowingMemory> memory(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const RankState& state = ranks_.all()[i];
    const bool moves = changes_cpus(placement_.slots().slots, from[i], to[i]);
    if (!moves || !state.movable()) continue;
    memory[i] = memory_.of(LocalRank(static_cast<int>(i)), state.process);
  }
  return memory;
}

Cost MappingRound::cost_of(const Mapping& mapping, const CounterDelta& delta) const {
  return evaluate(model_, placement_.slots().slots, delta.traffic, mapping, delta.off_node);
}

double MappingRound::cost_at_start(const CounterDelta& delta, double cost_now) {
  if (start_.size() != placement_.current().size() || !is_valid(start_, placement_.slots().slots))
    start_ = placement_.current();
  return start_ == placement_.current() ? cost_now : cost_of(start_, delta).total;
}

Result<KnownAnswer> MappingRound::map(const CounterDelta& delta, double cost_now) {
  if (!decider_.asks_for_mapping()) return KnownAnswer{placement_.current()};
  const SlotPlan& plan = placement_.slots();
  return known_.compute(options_.algorithm,
                        {plan.machine, plan.slots, delta.traffic, model_, placement_.current(),
                         delta.off_node, &whole_},
                        {cost_now, decider_.gain_needed()});
}

// The mapping with pinned ranks left in place and ranks near their GPUs.
Mapping MappingRound::permitted(Mapping wanted, const CounterDelta& delta) const {
  const SlotSet& slots = placement_.slots().slots;
  const AllowedCpus allowed = placement_.constraints(ranks_);
  const bool torn = count_outside(wanted, slots, allowed) > 0;
  wanted = placement_.without_pinned(std::move(wanted), ranks_);
  if (!torn) return wanted;
  return improve_allowed(std::move(wanted), slots, allowed,
                         [&](const Mapping& mapping) { return cost_of(mapping, delta).total; });
}

// Valid while `option` is. A rank whose memory cannot follow, now or later, loses more than any
// message mapping gains, hence has_room.
Candidate MappingRound::candidate(Option& option) {
  const auto memory = [this, &option]() -> std::span<const FollowingMemory> {
    if (!option.memory) option.memory = memory_of_moved(memory_at_, option.mapping);
    return *option.memory;
  };
  return {option.cost,
          placement_.changes(option.mapping),
          moves_many(placement_.slots().slots, model_, placement_.current(), option.mapping),
          [this, &option, memory] {
            return price_of(option, option.follows ? memory() : std::span<const FollowingMemory>());
          },
          [this, &option, memory] {
            const bool comes = option.follows || placement_.may_leave_memory();
            return !comes || placement_.pages_fit(memory_at_, option.mapping, memory());
          },
          option.is_ruled_out};
}

// Ranks that come back to their memory fill their caches all the same.
double MappingRound::price_of(const Option& option, std::span<const FollowingMemory> memory) const {
  const SlotSet& slots = placement_.slots().slots;
  const double of_ranks =
      migration_seconds(model_, slots, placement_.current(), option.mapping, {}, false);
  if (!option.follows) return of_ranks;
  return std::max(of_ranks,
                  migration_seconds(model_, slots, memory_at_, option.mapping, memory, true));
}

// Moves by which no further rank leaves its memory behind leave all of it where it is.
bool MappingRound::is_worth_leaving(const Mapping& wanted, double promise) const {
  if (options_.memory == Memory::kLater || promise >= kWorthLeaving) return true;
  const SlotSet& slots = placement_.slots().slots;
  const auto is_near = [&](const Mapping& mapping, LocalRank rank) {
    return slots[mapping[rank]].node == slots[memory_at_[rank]].node;
  };
  for (const LocalRank rank : wanted.ids())
    if (is_near(placement_.current(), rank) && !is_near(wanted, rank)) return false;
  return true;
}

// Valid while `left` is, which it fills.
Candidate MappingRound::bring_left(Option& left, const CounterDelta& delta) {
  if (!is_memory_away()) return {};
  left = {placement_.current(), true, cost_of(memory_at_, delta).total, {}};
  Candidate bringing = candidate(left);
  bringing.changes_cpus = true;
  return bringing;
}

// False if the ranks came back to the memory that they had left behind.
bool MappingRound::is_memory_away() const {
  return placement_.has_left_memory() && placement_.changes(memory_at_);
}

Decision MappingRound::decide(const CounterDelta& delta, double seconds, double cost_now,
                              Mapping& chosen) {
  const double cost_start = cost_at_start(delta, cost_now);
  const double used = cpu_seconds();
  const Observation seen{
      delta.traffic,
      seconds,
      cost_now,
      cost_start,
      placement_.keeps_bindings() && !only_watches_,
      std::accumulate(delta.off_node.begin(), delta.off_node.end(), delta.traffic.total()),
      used - std::exchange(cpu_seconds_, used),
      placement_.may_leave_memory()};
  const auto clear = decider_.observe(seen);
  if (!placement_.has_left_memory()) memory_at_ = placement_.current();
  Option left;
  const Candidate bringing = bring_left(left, delta);
  if (clear && clear->kind == DecisionKind::kSilent)
    return decider_.bring_in_silence(bringing).value_or(*clear);
  if (clear) return *clear;
  auto mapped = map(delta, cost_now);
  if (!mapped) {
    placement_.notes().add(mapped.error().message());
    return decider_.undecided(DecisionKind::kFailed);
  }
  Option wanted{permitted(std::move(mapped->mapping), delta), false, 0, {}, mapped->is_ruled_out};
  wanted.cost =
      wanted.mapping == placement_.current() ? cost_now : cost_of(wanted.mapping, delta).total;
  const bool leaves = decider_.judges_moves() &&
                      is_worth_leaving(wanted.mapping, (cost_now - wanted.cost) / seconds);
  wanted.follows = placement_.memory_follows_unless(leaves);
  Option back{placement_.without_pinned(start_, ranks_),
              placement_.memory_follows_unless(false),
              cost_start,
              {}};
  if (!decider_.is_on_trial()) proven_ = placement_.current(), proven_memory_ = memory_at_;
  // Ranks go back without memory only to where it was left.
  const bool goes_alone = placement_.has_left_memory() && memory_at_ == proven_memory_;
  Option proven{placement_.without_pinned(proven_, ranks_),
                placement_.memory_follows_unless(goes_alone),
                0,
                {}};
  const Decision decision =
      decider_.decide(candidate(wanted), candidate(back),
                      decider_.is_on_trial() ? candidate(proven) : Candidate(), bringing);
  const Option& moved = decision.kind == DecisionKind::kReturns  ? back
                        : decision.kind == DecisionKind::kSlower ? proven
                                                                 : wanted;
  placement_.leave_memory(!moved.follows);
  if (decision.kind == DecisionKind::kNoRoom)
    placement_.notes().add(
        "a better mapping was not applied: a NUMA node has no room for the memory that would "
        "follow (memory=stay moves the ranks without their memory)");
  chosen = moved.mapping;
  return decision;
}

ReportInterval MappingRound::line_of(const CounterDelta& delta, const Cost& now) const {
  ReportInterval line;
  line.decision = name_of(DecisionKind::kWaits);
  line.bytes = delta.traffic.total();
  line.messages = delta.traffic.total_messages();
  for (const double bytes : delta.off_node) line.off_node_bytes += bytes;
  line.remote_share_before = line.remote_share_after = now.remote_share;
  line.peak_load_before = line.peak_load_after = now.peak_load;
  line.cost_before = line.cost_after = now.total;
  return line;
}

// At the start and now. To be called before the mapping changes.
TrafficChange MappingRound::levels_of(const Traffic& traffic, const Cost& now) const {
  const SlotSet& slots = placement_.slots().slots;
  const bool has_moved = start_.size() == placement_.current().size() && is_valid(start_, slots) &&
                         !(start_ == placement_.current());
  return {has_moved ? traffic_by_domain(slots, traffic, start_) : now.domains, now.domains};
}

// To be called once for each interval.
void MappingRound::count_levels(const TrafficChange& levels, ReportInterval& line) {
  levels_.before += levels.before;
  levels_.after += levels.after;
  line.domains = report_domains({levels.after, levels.after});
}

ReportInterval MappingRound::measure(const CounterDelta& delta) {
  const Cost now = cost_of(placement_.current(), delta);
  ReportInterval line = line_of(delta, now);
  count_levels(levels_of(delta.traffic, now), line);
  return line;
}

ReportInterval MappingRound::run(const CounterDelta& delta, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  ReportInterval line = measure(delta);
  Mapping chosen;
  const Decision decision = decide(delta, seconds, line.cost_before, chosen);
  note_decision(decision, line);
  line.compute_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  const bool needs_memory = decision.kind == DecisionKind::kSlower && is_memory_away();
  if (decision.moves()) note_applied(placement_.apply(chosen, ranks_), delta, line);
  if (decision.kind == DecisionKind::kBrings || (needs_memory && !is_memory_away()))
    placement_.bring_left_memory(ranks_);
  else if (needs_memory)
    placement_.let_memory_follow();
  next_look_ = decider_.next_look(decision);
  return line;
}

// Empty if the step lacks a rank or a free slot of its CPUs. Several slots have the same CPUs where
// ranks outnumber the CPUs.
std::optional<Mapping> MappingRound::recorded(Mapping mapping, const RecordedTurn& turn) const {
  const SlotSet& slots = placement_.slots().slots;
  IndexedVector<LocalRank, const RecordedMove*> move_of(mapping.size());
  std::size_t found = 0;
  for (const RecordedMove& move : turn.moves)
    for (const LocalRank rank : mapping.ids())
      if (ranks_.at(rank).world.value == move.world_rank && move_of[rank] == nullptr)
        move_of[rank] = &move, ++found;
  if (found < turn.moves.size()) return std::nullopt;
  IndexedVector<SlotIndex, char> taken(slots.size());
  for (const LocalRank rank : mapping.ids())
    if (move_of[rank] == nullptr) taken[mapping[rank]] = 1;
  for (const LocalRank rank : mapping.ids()) {
    if (move_of[rank] == nullptr) continue;
    const auto slot = free_slot(slots, taken, move_of[rank]->cpus);
    if (!slot) return std::nullopt;
    mapping[rank] = *slot;
    taken[*slot] = 1;
  }
  return mapping;
}

ReportInterval MappingRound::repeat(const CounterDelta& delta,
                                    std::span<const RecordedTurn> turns) {
  ReportInterval line = measure(delta);
  next_look_ = NextLook::kLater;
  if (placement_.keeps_bindings()) {
    line.decision = name_of(DecisionKind::kFixed);
    return line;
  }
  for (const RecordedTurn& turn : turns) {
    const auto wanted = recorded(placement_.current(), turn);
    if (!wanted) {
      placement_.notes().add(
          "some moves of repeat= were left out: they name ranks or CPUs that this step does not "
          "have in this form (run the step with the same ranks, CPUs and binding as the recorded "
          "one)");
      continue;
    }
    line.decision = name_of(DecisionKind::kRepeats);
    note_applied(placement_.apply(placement_.without_pinned(*wanted, ranks_), ranks_), delta, line);
  }
  return line;
}

void MappingRound::note_applied(const ApplyResult& applied, const CounterDelta& delta,
                                ReportInterval& line) {
  for (const LocalRank rank : applied.moved) {
    line.moved.push_back(ranks_.at(rank).world.value);
    line.moved_to.push_back(placement_.cpus_of(rank).to_list());
  }
  line.remapped = !applied.moved.empty();
  next_look_ = line.remapped ? NextLook::kSooner : NextLook::kLater;
  const Cost then = cost_of(placement_.current(), delta);
  line.remote_share_after = then.remote_share;
  line.peak_load_after = then.peak_load;
  line.cost_after = then.total;
  TrafficChange change = change_of(line.domains);
  change.after = then.domains;
  line.domains = report_domains(change);
}

std::optional<ReportInterval> MappingRound::follow_gpus(const CounterDelta& delta) {
  if (placement_.keeps_bindings()) return std::nullopt;
  placement_.leave_memory(false);
  if (!placement_.has_left_memory()) memory_at_ = placement_.current();
  const Mapping nearer = placement_.inside_allowed(ranks_);
  if (!placement_.changes(nearer)) return std::nullopt;
  if (placement_.memory_follows() &&
      !placement_.pages_fit(memory_at_, nearer, memory_of_moved(memory_at_, nearer)))
    return std::nullopt;
  ReportInterval line = measure(delta);
  line.decision = name_of(DecisionKind::kFollows);
  start_.clear();
  decider_.forget_costs();
  note_applied(placement_.apply(nearer, ranks_), delta, line);
  return line;
}

std::optional<ReportInterval> MappingRound::follow_cpuset(const CounterDelta& delta) {
  const Cost now = cost_of(placement_.current(), delta);
  ReportInterval line = line_of(delta, now);
  const TrafficChange levels = levels_of(delta.traffic, now);
  placement_.leave_memory(false);
  const auto applied = placement_.follow_cpuset(whole_, ranks_);
  if (!applied) return std::nullopt;
  count_levels(levels, line);
  line.decision = name_of(DecisionKind::kFollows);
  model_ = model_of_step();
  known_.forget();
  start_.clear();
  memory_at_ = placement_.current();
  decider_.forget_costs();
  note_applied(*applied, delta, line);
  return line;
}

}  // namespace ondeloc
