// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/replay.h"

#include <algorithm>
#include <cmath>

#include "mapcore/decide/known_mapping.h"
#include "mapcore/decide/migration.h"

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

void add_to(std::vector<double>& sum, std::span<const double> bytes) {
  sum.resize(std::max(sum.size(), bytes.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) sum[i] += bytes[i];
}

double longest(const ReplayOptions& options) {
  return std::max(options.seconds, options.max_seconds);
}

// Traffic of one or several intervals.
struct Sent {
  const Traffic& traffic;
  std::span<const double> off_node;
};

class Loop {
 public:
  Loop(const ReplayPlace& place, const ReplayOptions& options)
      : place_(place),
        options_(options),
        interval_(to_ms(options.seconds), to_ms(longest(options)), options.slope),
        decider_({.threshold = options.threshold,
                  .least_gain = options.least_gain,
                  .interval = {options.seconds, longest(options), options.slope},
                  .rule = options.rule}),
        mapping_(place.start) {}

  // `run_ends`: the time at which the run ends in this interval; empty: it goes on.
  Status step(const CommMatrix& matrix, std::span<const double> off_node,
              std::optional<double> run_ends) {
    const Traffic traffic(matrix);
    const Sent sent{traffic, off_node};
    ReplayStep step;
    step.interval = static_cast<int>(replay_.steps.size());
    step.begin = replay_.steps.empty() ? 0 : replay_.steps.back().end;
    step.end = step.begin + options_.seconds;
    if (run_ends) step.end = std::clamp(*run_ends, step.begin, step.end);
    step.bytes = traffic.total();
    for (const double bytes : off_node) step.off_node_bytes += bytes;
    step.now = cost_of(mapping_, sent);
    const Cost start = cost_of(place_.start, sent);
    replay_.cost += step.now.total;
    replay_.start_cost += start.total;
    replay_.levels.before += start.domains;
    replay_.levels.after += step.now.domains;
    seen_ = add(seen_, matrix);
    add_to(seen_off_node_, off_node);
    seen_seconds_ += options_.seconds;
    ++seen_intervals_;
    // Half an interval of grace: rounding to milliseconds must not skip a look.
    const bool is_due = (seen_seconds_ + options_.seconds / 2) * 1000 >= interval_.milliseconds();
    if (is_due && !run_ends) {
      if (Status looked = look(step); !looked) return looked;
    }
    step.remote_after =
        step.remapped() ? cost_of(mapping_, sent).remote_share : step.now.remote_share;
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
    step.seen_seconds = seen_seconds_;
    if (Status decided = decide({traffic, seen_off_node_}, step); !decided) return decided;
    const bool sent = std::any_of(seen_off_node_.begin(), seen_off_node_.end(),
                                  [](double bytes) { return bytes > 0; });
    interval_.step(decider_.next_look(step.decision), sent || traffic.total() > 0);
    seen_ = {};
    seen_off_node_.clear();
    seen_seconds_ = 0;
    seen_intervals_ = 0;
    return {};
  }

  Status decide(const Sent& sent, ReplayStep& step) {
    const Cost now = cost_of(mapping_, sent), start = cost_of(place_.start, sent);
    if (const auto clear =
            decider_.observe({sent.traffic, seen_seconds_, now.total, start.total})) {
      step.decision = *clear;
      return {};
    }
    auto wanted = find(sent, now.total);
    if (!wanted) return std::move(wanted).error();
    step.present = now;
    step.candidate = cost_of(wanted->mapping, sent);
    step.decision =
        decider_.decide(candidate(wanted->mapping, step.candidate.total, wanted->is_ruled_out),
                        candidate(place_.start, start.total));
    if (!step.remapped()) return {};
    const bool back = step.decision.kind == DecisionKind::kReturns;
    apply(back ? place_.start : std::move(wanted->mapping), step);
    return {};
  }

  // Also searches where the mapper does not, in a memory of its own: `known_` stays that of the
  // mapper.
  Result<KnownAnswer> find(const Sent& sent, double cost_now) {
    const MapRequest request{place_.machine, place_.slots,  sent.traffic, place_.model,
                             mapping_,       sent.off_node, place_.whole};
    const bool asks = decider_.asks_for_mapping();
    if (asks) {
      auto answer = known_.compute(options_.algorithm, request, {cost_now, decider_.gain_needed()});
      if (!answer || !answer->is_ruled_out) return answer;
    }
    auto shown = shown_.compute(options_.algorithm, request);
    if (shown) shown->is_ruled_out = asks;
    return shown;
  }

  Cost cost_of(const Mapping& mapping, const Sent& sent) const {
    return evaluate(place_.model, place_.slots, sent.traffic, mapping, sent.off_node);
  }

  // Valid while `mapping` is.
  Candidate candidate(const Mapping& mapping, double cost, bool is_ruled_out = false) const {
    return {cost,
            changes_cpus(place_.slots, mapping_, mapping),
            moves_many(place_.slots, place_.model, mapping_, mapping),
            [this, &mapping] { return migration_to(mapping); },
            {},
            is_ruled_out};
  }

  double migration_to(const Mapping& mapping) const {
    const std::vector<FollowingMemory> memory(mapping.size(), {options_.resident, 0});
    return migration_seconds(place_.model, place_.slots, mapping_, mapping, memory,
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
  KnownMapping known_, shown_;
  CommMatrix seen_;
  std::vector<double> seen_off_node_;
  double seen_seconds_ = 0;
  int seen_intervals_ = 0;
  Mapping mapping_;
  Replay replay_;
};

}  // namespace

Result<Replay> replay_series(const ReplayPlace& place, const std::vector<CommMatrix>& series,
                             const ReplayOptions& options,
                             std::span<const std::vector<double>> off_node,
                             std::optional<double> run_seconds) {
  Loop loop(place, options);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto bytes = i < off_node.size() ? std::span(off_node[i]) : std::span<const double>();
    const bool is_last = i + 1 == series.size();
    if (Status done = loop.step(series[i], bytes, is_last ? run_seconds : std::nullopt); !done)
      return std::move(done).error();
  }
  return loop.take();
}

}  // namespace ondeloc
