// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/replay.h"

#include <algorithm>
#include <cmath>

#include "mapcore/decide/interval.h"
#include "mapcore/decide/migration.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc {
namespace {

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
        decider_({.threshold = options.threshold,
                  .slope = options.slope,
                  .longest = std::max(options.seconds, options.max_seconds),
                  .rule = options.rule}),
        mapping_(place.start) {}

  Status step(const CommMatrix& matrix) {
    const Traffic traffic(matrix);
    ReplayStep step;
    step.interval = static_cast<int>(replay_.steps.size());
    step.bytes = traffic.total();
    step.now = evaluate(place_.model, place_.slots, traffic, mapping_);
    replay_.cost += step.now.total;
    replay_.start_cost += cost_of(place_.start, traffic).total;
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
    step.seen = seen_intervals_;
    if (Status decided = decide(traffic, step); !decided) return decided;
    interval_.step(step.remapped());
    seen_ = {};
    seen_seconds_ = 0;
    seen_intervals_ = 0;
    return {};
  }

  Status decide(const Traffic& traffic, ReplayStep& step) {
    const Cost now = cost_of(mapping_, traffic), start = cost_of(place_.start, traffic);
    if (const auto clear = decider_.observe({traffic, seen_seconds_, now.total, start.total})) {
      step.decision = *clear;
      return {};
    }
    auto wanted = compute_mapping(
        options_.algorithm,
        {place_.machine, place_.slots, traffic, place_.model, mapping_, {}, place_.whole});
    if (!wanted) return std::move(wanted).error();
    step.present = now;
    step.candidate = cost_of(*wanted, traffic);
    step.decision = decider_.decide(candidate(*wanted, step.candidate.total),
                                    candidate(place_.start, start.total));
    if (!step.remapped()) return {};
    const bool back = step.decision.kind == DecisionKind::kReturns;
    apply(back ? place_.start : *std::move(wanted), step);
    return {};
  }

  Cost cost_of(const Mapping& mapping, const Traffic& traffic) const {
    return evaluate(place_.model, place_.slots, traffic, mapping);
  }

  // Valid while `mapping` is.
  Candidate candidate(const Mapping& mapping, double cost) const {
    return {cost,
            changes_cpus(place_.slots, mapping_, mapping),
            moves_many(place_.slots, place_.model, mapping_, mapping),
            [this, &mapping] { return migration_to(mapping); },
            {}};
  }

  double migration_to(const Mapping& mapping) const {
    const std::vector<double> resident(mapping.size(), options_.resident);
    return migration_seconds(place_.model, place_.slots, mapping_, mapping, resident,
                             options_.resident > 0);
  }

  void apply(Mapping mapping, ReplayStep& step) {
    step.moved = count_migrations(place_.slots, mapping_, mapping);
    for (std::size_t rank = 0; rank < mapping.size(); ++rank)
      if (mapping[rank] != mapping_[rank]) step.ranks.push_back(static_cast<int>(rank));
    step.migration = step.decision.migration;
    replay_.migration += step.migration;
    mapping_ = std::move(mapping);
  }

  const ReplayPlace& place_;
  const ReplayOptions& options_;
  IntervalController interval_;
  Decider decider_;
  CommMatrix seen_;
  double seen_seconds_ = 0;
  int seen_intervals_ = 0;
  Mapping mapping_;
  Replay replay_;
};

}  // namespace

Result<Replay> replay_series(const ReplayPlace& place, const std::vector<CommMatrix>& series,
                             const ReplayOptions& options) {
  Loop loop(place, options);
  for (const CommMatrix& matrix : series) {
    if (Status done = loop.step(matrix); !done) return std::move(done).error();
  }
  return loop.take();
}

}  // namespace ondeloc
