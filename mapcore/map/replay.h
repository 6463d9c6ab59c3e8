// SPDX-License-Identifier: Apache-2.0
// The online loop over a recorded series, without a clock, processes or files: what `ondeloc
// replay` prints. The mapping decided on after an interval is in force from the next one; the
// predicted time of a migration is added where it happens. Thread safety: pure function.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/cost.h"

namespace ondeloc {

struct ReplayOptions {
  std::string algorithm = "coordinated";
  double seconds = 0.5;     // length of one interval of the series; also the floor between looks
  double max_seconds = 30;  // the cap
  double slope = 2;         // interval x slope after a look that applied nothing, / slope after one
  double threshold = 0.02;  // as in decide.h
  bool always = false;      // apply every mapping that differs
  double resident = 0;      // bytes of each rank that move with it; 0: they stay
};

// What was done after an interval, and why nothing.
enum class Decision { kWaits, kKeeps, kFleeting, kUnpaid, kRemaps, kReturns };
struct DecisionInfo {
  Decision decision;
  const char* name;
  const char* meaning;  // for a person, of at most 70 characters
};
// In the order of the enum.
std::span<const DecisionInfo> decisions();

struct ReplayStep {
  int interval = 0;
  double bytes = 0;
  Cost now;  // of this interval under the mapping in force
  Decision decision = Decision::kWaits;
  // Where it looked: of all `seen` intervals since the last look together, under the mapping in
  // force and under the algorithm's. Both 0 without traffic.
  int seen = 0;
  Cost present, candidate;
  int moved = 0;         // ranks that change their NUMA node after this interval
  double migration = 0;  // predicted seconds
  bool looked() const { return decision != Decision::kWaits; }
  bool remapped() const { return decision == Decision::kRemaps || decision == Decision::kReturns; }
};

struct Replay {
  std::vector<ReplayStep> steps;
  double cost = 0;        // predicted seconds, sum over the intervals
  double migration = 0;   // predicted seconds, sum
  double start_cost = 0;  // predicted seconds if nothing ever moved
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

// REQUIRES: all matrices over the same ranks. Errors: those of the algorithm.
Result<Replay> replay_series(const ReplayPlace& place, const std::vector<CommMatrix>& series,
                             const ReplayOptions& options);

}  // namespace ondeloc
