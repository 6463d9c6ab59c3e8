// SPDX-License-Identifier: Apache-2.0
// One sentence on a run: whether ranks moved and what that gained, or why none moved. The summary
// of a step, `ondeloc replay`, `ondeloc explain`, `ondeloc report` and the page of a run say it in
// the same words; `ondeloc compare` and `ondeloc profile classify` say of a second run what it
// could gain. All times and gains are predictions of the cost model. Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/decide/decider.h"

namespace ondeloc {

// One interval of a run, from a report or from a replay.
struct RunStep {
  double begin = 0, end = 0;  // seconds since the start
  double bytes = 0;           // between ranks of the node
  double off_node_bytes = 0;
  double cost = 0;                                    // under the mapping in force, seconds
  std::optional<double> remote_before, remote_after;  // share of the bytes between NUMA nodes
  double peak_load = 0;
  Decision decision;
  double looked_seconds = 0;  // the length of time that the decision is on
  std::vector<int> moved;     // ranks whose CPUs changed
  std::size_t count = 1;      // intervals: a line of a long run's report stands for several
};

struct Run {
  std::vector<RunStep> steps;
  double saved = 0;       // seconds against no move at all, migrations paid; < 0: lost
  bool replayed = false;  // "would have moved"
  Decide decide = Decide::kAuto;
  bool bound_once = false;  // mode static
  bool attached = true;     // a process called MPI_Init with ondeloc's library, and was counted
  bool left_alone = false;  // nobody attached, and ondeloc left those alone that wanted to
  // The whole run sent them. Intervals lack bytes of before the ranks were placed, and a run whose
  // ranks were never placed has no interval.
  double bytes = 0, off_node_bytes = 0;
  // Share of all bytes between NUMA nodes if no rank had moved, and as the ranks moved. Empty: not
  // counted; then the first and the last interval stand for the run.
  std::optional<double> crossing_at_start = {}, crossing_as_moved = {};
  // Intervals in which ranks moved, as the report says. 0: not known; then the steps tell it.
  std::size_t remaps = 0;
  double seconds() const { return steps.empty() ? 0 : steps.back().end; }
};

std::size_t intervals_of(const Run& run);
// Intervals in which ranks moved.
std::size_t remaps_of(const Run& run);

// Bytes of the whole run between ranks of the node, and to other nodes.
double bytes_of(const Run& run);
double off_node_bytes_of(const Run& run);

// The share of the bytes between NUMA nodes as the ranks moved, by the intervals that tell it;
// empty if none does.
std::optional<double> crossing_in_steps(const Run& run);

// The kind of sentence that verdict() makes.
enum class Outcome {
  kUncounted,  // no process called MPI_Init with ondeloc's library, or ondeloc left it alone
  kSilent,     // the ranks sent each other nothing
  kMoved,      // ranks moved, or would have
  kShort,      // no decision was due before the end
  kNoStake,    // messages take too little time for a mapping to matter
  kMissed,     // a better mapping was found and not applied
  kStayed,     // anything else
};
Outcome outcome(const Run& run);
// Seconds that mappings would have saved that were found and not applied, predicted.
double missed_by(const Run& run);
// Without a full stop.
std::string verdict(const Run& run);

// A second run under the best mapping that was found, before anybody runs it.
struct Prospect {
  double run_seconds = 0;  // of the recorded run; 0: unknown
  double bytes = 0;        // between ranks of the node
  double off_node_bytes = 0;
  std::string base, best;                      // names of the usual mapping and of the best one
  double cost = 0, least = 0;                  // of the messages under these two, seconds
  std::optional<double> remote, least_remote;  // share of the bytes between NUMA nodes
  std::string numbers;  // on which the prediction rests: CostModel::numbers()
};
std::string verdict(const Prospect& prospect);

// "20 % of the run (200 ms), predicted": the time of the messages, which is all that a mapping can
// shorten.
std::string at_stake(const Run& run);

// Run::saved of a run whose steps are from a report: the ledger before the last decision, and the
// price of a last move.
double saved_by(const Run& run);

// The rules of a decision in their order, which is that of Decider. A decision that moves no rank
// failed at one of them.
struct Rule {
  std::string_view question;
  std::vector<DecisionKind> failed;  // kinds that say no
  bool (*is_asked)(const Run& run);
};
std::span<const Rule> rules();

// By the name that a report has.
std::optional<DecisionKind> decision_of(std::string_view name);

}  // namespace ondeloc
