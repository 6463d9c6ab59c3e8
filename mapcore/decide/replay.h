// SPDX-License-Identifier: Apache-2.0
// The online loop over a recorded series, without a clock, processes or files: what `ondeloc
// replay` prints. The mapping decided on after an interval is in force from the next one; the
// predicted time of a migration is added where it happens. Thread safety: pure function.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/decide/decider.h"
#include "mapcore/decide/levels.h"
#include "mapcore/map/cost.h"
#include "mapcore/options/options.h"

namespace ondeloc {

struct ReplayOptions {
  std::string algorithm = Options().algorithm;
  // The defaults are those of --ondeloc (options.h).
  double seconds = Options().interval_ms / 1e3;  // of an interval; the shortest time between looks
  double max_seconds = Options().max_interval_ms / 1e3;
  double slope = Options().slope;  // interval x slope after a look that moved no rank, else / slope
  double threshold = Options().threshold;    // as in decider.h
  double least_gain = Options().least_gain;  // as in decider.h
  Decide rule = Decide::kAuto;               // not kNever
  double resident = 0;                       // bytes in huge pages that move with a rank; 0: none
};

struct ReplayStep {
  int interval = 0;
  double begin = 0, end = 0;           // seconds since the start of the series
  double bytes = 0;                    // between the ranks of the node
  double off_node_bytes = 0;           // to other nodes
  Cost now;                            // of this interval under the mapping in force
  std::optional<double> remote_after;  // now.remote_share under the mapping in force after it
  Decision decision;
  // If the loop looked: of all `seen` intervals since the last look together, under the mapping in
  // force and under the algorithm's. Both 0 without traffic.
  int seen = 0;
  double seen_seconds = 0;  // their length together
  Cost present, candidate;
  int moved = 0;           // ranks that change their NUMA node after this interval
  std::vector<int> ranks;  // that change their slot after this interval
  double migration = 0;    // predicted seconds of the moves after this interval
  bool looked() const { return decision.kind != DecisionKind::kWaits; }
  bool remapped() const { return decision.moves(); }
};

struct Replay {
  std::vector<ReplayStep> steps;
  double cost = 0;        // predicted seconds, sum over the intervals
  double migration = 0;   // predicted seconds, sum
  double start_cost = 0;  // predicted seconds if nothing ever moved
  TrafficChange levels;   // of the whole run: if nothing ever moved, and as the ranks moved
  Mapping last;
};

// All references outlive the call.
struct ReplayPlace {
  const Machine& machine;
  const SlotSet& slots;
  const CostModel& model;
  const Mapping& start;            // every rank has a slot
  const Machine* whole = nullptr;  // as in MapRequest
};

// `off_node`: for each matrix the bytes of each rank to other nodes, or empty. `run_seconds`: the
// run ends with the last matrix, after this time. That interval may be shorter than the others, and
// nothing is decided after it, because no message follows. Empty: all intervals are whole, and the
// run may go on. REQUIRES: all matrices over the same ranks. Errors: those of the algorithm.
Result<Replay> replay_series(const ReplayPlace& place, const std::vector<CommMatrix>& series,
                             const ReplayOptions& options,
                             std::span<const std::vector<double>> off_node = {},
                             std::optional<double> run_seconds = {});

}  // namespace ondeloc
