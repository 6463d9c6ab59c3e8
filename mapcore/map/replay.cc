// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/replay.h"

#include <algorithm>
#include <cmath>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/decide.h"
#include "mapcore/mapper/interval.h"

namespace ondeloc {
namespace {

constexpr DecisionInfo kDecisions[] = {
    {Decision::kWaits, "waits", "no look is due"},
    {Decision::kKeeps, "keeps", "nothing better, or too little for the migrations"},
    {Decision::kFleeting, "fleeting", "better, but the phase before lasted for one look only"},
    {Decision::kUnpaid, "unpaid", "better, but what earlier migrations cost is not made up for"},
    {Decision::kRemaps, "remaps", "ranks move"},
    {Decision::kReturns, "returns", "ranks move to where they were at the start: more was lost"},
};

CommMatrix add(const CommMatrix& a, const CommMatrix& b) {
  std::vector<MatrixEntry> entries = a.entries;
  entries.insert(entries.end(), b.entries.begin(), b.entries.end());
  return CommMatrix::from_entries(std::max(a.ranks, b.ranks), std::move(entries));
}

std::uint32_t to_ms(double seconds) {
  return static_cast<std::uint32_t>(std::clamp(seconds * 1000, 1.0, 4e9));
}

class Loop {
 public:
  Loop(const ReplayPlace& place, const ReplayOptions& options)
      : place_(place),
        options_(options),
        interval_(to_ms(options.seconds), to_ms(std::max(options.seconds, options.max_seconds)),
                  options.slope),
        mapping_(place.start) {}

  Status step(const CommMatrix& matrix) {
    const Traffic traffic(matrix);
    ReplayStep step;
    step.interval = static_cast<int>(replay_.steps.size());
    step.bytes = traffic.total();
    step.now = evaluate(place_.model, place_.slots, traffic, mapping_);
    replay_.cost += step.now.total;
    const double start_cost = cost_of(place_.start, traffic);
    replay_.start_cost += start_cost;
    ledger_.add(step.now.total, start_cost);
    seen_ = add(seen_, matrix);
    seen_seconds_ += options_.seconds;
    ++seen_intervals_;
    // Half an interval of grace: rounding to milliseconds must not skip a look.
    if ((seen_seconds_ + options_.seconds / 2) * 1000 >= interval_.milliseconds()) {
      if (Status looked = look(step); !looked) return looked;
    }
    replay_.steps.push_back(step);
    return {};
  }

  Replay take() {
    replay_.last = std::move(mapping_);
    return std::move(replay_);
  }

 private:
  Status look(ReplayStep& step) {
    const Traffic traffic(seen_);
    const double horizon = phase_.advance(traffic, seen_seconds_) +
                           until_next_look(seen_seconds_, options_.slope, options_.max_seconds);
    step.decision = Decision::kKeeps;
    step.seen = seen_intervals_;
    if (traffic.total() > 0 && traffic.ranks() > 1) {
      auto mapping = compute_mapping(
          options_.algorithm,
          {place_.machine, place_.slots, traffic, place_.model, mapping_, {}, place_.whole});
      if (!mapping) return std::move(mapping).error();
      decide(traffic, horizon, *std::move(mapping), step);
    }
    interval_.step(step.remapped());
    seen_ = {};
    seen_seconds_ = 0;
    seen_intervals_ = 0;
    return {};
  }

  double cost_of(const Mapping& mapping, const Traffic& traffic) const {
    return evaluate(place_.model, place_.slots, traffic, mapping).total;
  }

  double migration_to(const Mapping& mapping) const {
    const std::vector<double> resident(mapping.size(), options_.resident);
    return migration_seconds(place_.model, place_.slots, mapping_, mapping, resident,
                             options_.resident > 0);
  }

  void decide(const Traffic& traffic, double horizon, Mapping mapping, ReplayStep& step) {
    step.present = evaluate(place_.model, place_.slots, traffic, mapping_);
    step.candidate = evaluate(place_.model, place_.slots, traffic, mapping);
    DecisionInput input;
    input.cost_now = step.present.total;
    input.interval = seen_seconds_;
    input.horizon = horizon;
    input.migration_seconds = migration_to(mapping);
    input.cost_new = ledger_.cost_to_count(step.candidate.total, cost_of(place_.start, traffic),
                                           input.migration_seconds);
    input.threshold = options_.threshold;
    step.decision = decision_on(mapping, input, step.candidate.total);
    if (step.decision == Decision::kReturns) remap(place_.start, step);
    if (step.decision == Decision::kRemaps) remap(std::move(mapping), step);
  }

  // `candidate`: predicted seconds, without what the ledger adds.
  Decision decision_on(const Mapping& mapping, DecisionInput input, double candidate) const {
    if (options_.always) return mapping == mapping_ ? Decision::kKeeps : Decision::kRemaps;
    // The way back comes first: what was lost already is certain, what is to be gained is not.
    if (mapping_ != place_.start && ledger_.should_go_back(migration_to(place_.start)))
      return Decision::kReturns;
    const bool pays = worth_remapping(input);
    input.cost_new = candidate;
    if (!worth_remapping(input)) return Decision::kKeeps;
    if (phase_.is_fleeting()) return Decision::kFleeting;
    return pays ? Decision::kRemaps : Decision::kUnpaid;
  }

  void remap(Mapping mapping, ReplayStep& step) {
    step.moved = count_migrations(place_.slots, mapping_, mapping);
    step.migration = migration_to(mapping);
    replay_.migration += step.migration;
    ledger_.add_migration(step.migration);
    mapping_ = std::move(mapping);
  }

  const ReplayPlace& place_;
  const ReplayOptions& options_;
  IntervalController interval_;
  PhaseClock phase_;
  Ledger ledger_;
  CommMatrix seen_;
  double seen_seconds_ = 0;
  int seen_intervals_ = 0;
  Mapping mapping_;
  Replay replay_;
};

}  // namespace

std::span<const DecisionInfo> decisions() { return kDecisions; }

Result<Replay> replay_series(const ReplayPlace& place, const std::vector<CommMatrix>& series,
                             const ReplayOptions& options) {
  Loop loop(place, options);
  for (const CommMatrix& matrix : series) {
    if (Status done = loop.step(matrix); !done) return std::move(done).error();
  }
  return loop.take();
}

}  // namespace ondeloc
