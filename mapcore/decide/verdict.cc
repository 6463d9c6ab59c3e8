// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/options/options.h"

namespace ondeloc {
namespace {

constexpr double kNegligible = 0.001;  // of the run: a gain that is not worth a word
constexpr double kUnclear = 0.01;  // of the cost: such a gain, if the time of the run is unknown

// The reason for a person, behind "not moved because ".
const char* reason_of(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kFixed:
      return "no rank may be moved (the notes say why)";
    case DecisionKind::kFailed:
      return "the algorithm found no mapping (the notes say why)";
    case DecisionKind::kNearBest:
    case DecisionKind::kSmall:
      return "the gain is below the threshold";
    case DecisionKind::kCheap:
      return "all messages together take less time than the least gain of a move";
    case DecisionKind::kEarly:
      return "the pace of the program without moves was not known yet";
    case DecisionKind::kFleeting:
      return "the pattern of the messages changed too fast";
    case DecisionKind::kUnpaid:
      return "earlier moves have not paid off yet";
    case DecisionKind::kNoRoom:
      return "a NUMA node has no room for the memory that would follow";
    case DecisionKind::kFew:
      return "too few ranks would have changed their NUMA node or cache (decide=many)";
    case DecisionKind::kWatched:
      return "the ranks are only watched (decide=never)";
    default:
      return "no better mapping was found";
  }
}

// Looks with one decision that moved no rank.
struct Looks {
  std::size_t count = 0;
  double missed = 0;  // seconds, predicted
};

struct Sums {
  double bytes = 0, off_node = 0, cost = 0, missed = 0;
  std::size_t looks = 0, remaps = 0, undone = 0;
  std::optional<double> remote_first, remote_last;
  std::map<DecisionKind, Looks> kinds;
};

double sum_of(const Run& run, double RunStep::*field) {
  double sum = 0;
  for (const RunStep& step : run.steps) sum += step.*field;
  return sum;
}

void add_step(const RunStep& step, Sums& sums) {
  sums.cost += step.cost;
  if (!sums.remote_first) sums.remote_first = step.remote_before;
  if (step.remote_after) sums.remote_last = step.remote_after;
  const DecisionKind kind = step.decision.kind;
  if (kind == DecisionKind::kWaits) return;
  ++sums.looks;
  if (!step.moved.empty()) {
    ++sums.remaps;
    if (kind == DecisionKind::kSlower) ++sums.undone;
  } else if (kind != DecisionKind::kSilent && !step.decision.acts()) {
    const double missed = std::max(step.decision.gain, 0.0);
    Looks& looks = sums.kinds[kind];
    looks.count += step.count;
    looks.missed += missed;
    sums.missed += missed;
  }
}

Sums add_up(const Run& run) {
  Sums sums;
  for (const RunStep& step : run.steps) add_step(step, sums);
  sums.bytes = bytes_of(run);
  sums.off_node = off_node_bytes_of(run);
  if (run.crossing_at_start && run.crossing_as_moved) {
    sums.remote_first = run.crossing_at_start;
    sums.remote_last = run.crossing_as_moved;
  }
  return sums;
}

// "3.1 % of the run (12 ms)", or "12 ms" if nobody knows how long the run took.
std::string of_the_run(double seconds, double run_seconds) {
  if (run_seconds <= 0) return seconds_text(seconds);
  return fmt::format("{} of the run ({})", percent_text(seconds / run_seconds),
                     seconds_text(seconds));
}

std::string off_node_text(double bytes) {
  return bytes > 0 ? fmt::format("; {} went to other nodes", bytes_text(bytes)) : "";
}

std::string crossing_text(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return "";
  return fmt::format("; bytes between NUMA nodes {:.0f} -> {:.0f} %", 100 * *before, 100 * *after);
}

std::string nothing_sent_text(double off_node) {
  return "nothing to map: the ranks of this node sent each other nothing" + off_node_text(off_node);
}

std::string uncounted_text(const Run& run) {
  return run.left_alone ? "nothing was counted: ondeloc left the processes that called MPI_Init "
                          "alone; the notes say why"
                        : "nothing was counted: no process called MPI_Init with ondeloc's library";
}

// A mapping that saved the whole cost would gain less of the run than a move has to gain.
bool has_no_stake(double cost, double run_seconds) {
  return run_seconds > 0 && cost < Options().least_gain * run_seconds;
}

Outcome outcome_of(const Run& run, const Sums& sums) {
  if (!run.attached && sums.bytes + sums.off_node <= 0) return Outcome::kUncounted;
  if (sums.bytes <= 0) return Outcome::kSilent;
  if (sums.remaps > 0) return Outcome::kMoved;
  if (sums.kinds.empty()) return Outcome::kShort;
  if (has_no_stake(sums.cost, run.seconds())) return Outcome::kNoStake;
  return sums.missed > kNegligible * run.seconds() ? Outcome::kMissed : Outcome::kStayed;
}

// "nothing to gain: messages take ...", or nothing if there is something to gain.
std::string no_stake_text(double cost, double run_seconds) {
  if (!has_no_stake(cost, run_seconds)) return "";
  return "nothing to gain: messages take " + of_the_run(cost, run_seconds) + ", predicted";
}

std::string undone_text(std::size_t times) {
  return times == 0
             ? ""
             : fmt::format(", {} of them back, because the program was slower after moves", times);
}

std::string moved_text(const Run& run, const Sums& sums) {
  return fmt::format("{} ranks in {} of {}{}{}; predicted to {} {}; messages take {}",
                     run.replayed ? "would have moved" : "moved", remaps_of(run),
                     counted(intervals_of(run), "interval"), undone_text(sums.undone),
                     crossing_text(sums.remote_first, sums.remote_last),
                     run.saved >= 0 ? "save" : "cost",
                     of_the_run(std::abs(run.saved), run.seconds()), at_stake(run));
}

// REQUIRES: some look moved no rank.
template <class Number>
const std::pair<const DecisionKind, Looks>& largest(const Sums& sums, Number Looks::*of) {
  return *std::max_element(
      sums.kinds.begin(), sums.kinds.end(),
      [of](const auto& a, const auto& b) { return a.second.*of < b.second.*of; });
}

std::string missed_text(const Run& run, const Sums& sums) {
  const auto& [kind, looks] = largest(sums, &Looks::missed);
  return fmt::format("could have gained {}, predicted, but was not moved{} because {}",
                     of_the_run(sums.missed, run.seconds()),
                     looks.missed < sums.missed ? ", mostly" : "", reason_of(kind));
}

// The cost is not known of messages that are in no interval.
std::string bound_once_text(const Run& run, const Sums& sums) {
  const std::string messages = sums.cost > 0 ? "; messages take " + at_stake(run) : "";
  return "ranks were bound once, when the step started" + messages;
}

std::string stayed_text(const Run& run, const Sums& sums) {
  if (run.bound_once) return bound_once_text(run, sums);
  const Outcome outcome = outcome_of(run, sums);
  if (outcome == Outcome::kShort)
    return "nothing moved, because no decision was due before the run ended";
  if (outcome == Outcome::kNoStake) return no_stake_text(sums.cost, run.seconds());
  if (outcome == Outcome::kMissed) return missed_text(run, sums);
  const DecisionKind most = largest(sums, &Looks::count).first;
  const bool is_good = most == DecisionKind::kKeeps || most == DecisionKind::kSmall ||
                       most == DecisionKind::kNearBest || most == DecisionKind::kCheap;
  return fmt::format("{}; messages take {}",
                     is_good ? "already as good as it gets: no mapping that is clearly better was "
                               "found"
                             : fmt::format("not moved because {}", reason_of(most)),
                     at_stake(run));
}

std::string prospect_text(const Prospect& of) {
  if (const std::string text = no_stake_text(of.cost, of.run_seconds); !text.empty()) return text;
  const double gain = of.cost - of.least;
  const double negligible = of.run_seconds > 0 ? kNegligible * of.run_seconds : kUnclear * of.cost;
  if (gain <= negligible)
    return fmt::format(
        "already as good as it gets: no mapping that is clearly better than {} was found; messages "
        "take {}, predicted",
        of.base, of_the_run(of.cost, of.run_seconds));
  const std::string amount = of.run_seconds > 0
                                 ? of_the_run(gain, of.run_seconds)
                                 : fmt::format("{} of the {} that messages take",
                                               seconds_text(gain), seconds_text(of.cost));
  return fmt::format("a run with {} could gain {} against {}{}; predicted", of.best, amount,
                     of.base, crossing_text(of.remote, of.least_remote));
}

}  // namespace

std::size_t intervals_of(const Run& run) {
  std::size_t intervals = 0;
  for (const RunStep& step : run.steps) intervals += step.count;
  return intervals;
}

double bytes_of(const Run& run) { return std::max(sum_of(run, &RunStep::bytes), run.bytes); }

double off_node_bytes_of(const Run& run) {
  return std::max(sum_of(run, &RunStep::off_node_bytes), run.off_node_bytes);
}

std::size_t remaps_of(const Run& run) {
  const auto steps = static_cast<std::size_t>(std::count_if(
      run.steps.begin(), run.steps.end(), [](const RunStep& step) { return !step.moved.empty(); }));
  // A report is not trusted: a step without moves stays one, whatever the total says.
  return steps == 0 ? 0 : std::clamp(run.remaps, steps, std::max(steps, intervals_of(run)));
}

std::optional<double> crossing_in_steps(const Run& run) {
  double across = 0, all = 0;
  for (const RunStep& step : run.steps) {
    if (!step.remote_before) continue;
    across += *step.remote_before * step.bytes;
    all += step.bytes;
  }
  if (all <= 0) return std::nullopt;
  return across / all;
}

Outcome outcome(const Run& run) { return outcome_of(run, add_up(run)); }

double missed_by(const Run& run) { return add_up(run).missed; }

std::string verdict(const Run& run) {
  const Sums sums = add_up(run);
  const Outcome outcome = outcome_of(run, sums);
  if (outcome == Outcome::kUncounted) return uncounted_text(run);
  if (outcome == Outcome::kSilent) return nothing_sent_text(sums.off_node);
  return (outcome == Outcome::kMoved ? moved_text(run, sums) : stayed_text(run, sums)) +
         off_node_text(sums.off_node);
}

std::string verdict(const Prospect& prospect) {
  if (prospect.bytes <= 0) return nothing_sent_text(prospect.off_node_bytes);
  return prospect_text(prospect) + " from its messages and " + prospect.numbers +
         off_node_text(prospect.off_node_bytes);
}

std::string at_stake(const Run& run) {
  return of_the_run(add_up(run).cost, run.seconds()) + ", predicted";
}

double saved_by(const Run& run) {
  if (run.steps.empty()) return 0;
  double saved = 0;
  for (const RunStep& step : run.steps) {
    const Decision& decision = step.decision;
    if (decision.kind == DecisionKind::kWaits) continue;
    saved = 0 - decision.ledger - (decision.acts() ? decision.migration : 0);  // no negative zero
  }
  return saved;
}

namespace {

bool in_any_run(const Run&) { return true; }
bool by_gain(const Run& run) { return weighs_gain(run.decide); }
bool by_count(const Run& run) { return run.decide == Decide::kMany; }
// A replay has no pace but that of the recorded mapping.
bool by_pace(const Run& run) { return run.decide == Decide::kAuto && !run.replayed; }

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> kRules = {
      {"is a decision due?", {DecisionKind::kWaits}, in_any_run},
      {"did ranks of the node send each other anything?", {DecisionKind::kSilent}, in_any_run},
      {"can ondeloc bind the ranks?", {DecisionKind::kFixed}, in_any_run},
      {"is the program's pace without moves known?", {DecisionKind::kEarly}, by_pace},
      {"do the messages take longer than the least gain of a move?",
       {DecisionKind::kCheap},
       by_gain},
      {"could any mapping reach the least gain of a move?", {DecisionKind::kNearBest}, by_gain},
      {"did the algorithm find a mapping?", {DecisionKind::kFailed}, in_any_run},
      {"is it better than the mapping in force?", {DecisionKind::kKeeps}, by_gain},
      {"is the gain above the threshold, migration included?", {DecisionKind::kSmall}, by_gain},
      {"did this or the previous pattern outlast one interval?",
       {DecisionKind::kFleeting},
       by_gain},
      {"have earlier moves paid off?", {DecisionKind::kUnpaid}, by_gain},
      {"has every NUMA node room for the memory?", {DecisionKind::kNoRoom}, by_gain},
      {"do enough ranks change node or cache (decide=many)?", {DecisionKind::kFew}, by_count},
      {"does decide= permit moves?", {DecisionKind::kWatched}, in_any_run},
  };
  return kRules;
}

std::optional<DecisionKind> decision_of(std::string_view name) {
  for (const DecisionInfo& info : decisions())
    if (name == info.name) return info.kind;
  return std::nullopt;
}

}  // namespace ondeloc
