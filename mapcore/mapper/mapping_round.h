// SPDX-License-Identifier: Apache-2.0
// One interval of the mapper: from counted traffic to moved ranks, and its entry in the report.
// Thread safety: for one thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mapcore/decide/decider.h"
#include "mapcore/decide/known_mapping.h"
#include "mapcore/decide/levels.h"
#include "mapcore/decide/migration.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/mapper/rank_memory.h"
#include "mapcore/report/recorded_moves.h"
#include "mapcore/report/report.h"

namespace ondeloc {

class MappingRound {
 public:
  // `whole`: the machine before it was restricted to the step. `measured`: its machine file, may be
  // nullptr. All references and pointers outlive the object.
  MappingRound(const Options& options, const Machine& whole, Placement& placement, Ranks& ranks,
               const MachineFile* measured = nullptr);

  // Off-node bytes then count on their way to each rank's adapter; `adapter_of` as for
  // fixed_adapters(). Empty: no adapter is known.
  void use_adapters(std::vector<std::optional<std::size_t>> adapter_of);

  // `seconds`: the time in which the traffic in `delta` was sent. Moves ranks if that is worth it.
  ReportInterval run(const CounterDelta& delta, double seconds);
  // The entry of an interval after which nothing is decided: the last interval of a step.
  ReportInterval measure(const CounterDelta& delta);
  // To be called instead of run() if a recorded series is applied again (repeat=): moves the ranks
  // as `turns` say, one after the other, and maps nothing. Moves that do not fit the step are left
  // out, and a note says so.
  ReportInterval repeat(const CounterDelta& delta, std::span<const RecordedTurn> turns);
  // To be called instead of run() if the step's CPUs changed: places the ranks again on a new model
  // and forgets what earlier moves cost. Empty if the ranks could not be placed.
  std::optional<ReportInterval> follow_cpuset(const CounterDelta& delta);
  // The same if Placement::allow() was called: moves ranks that are away from their GPUs to CPUs
  // near them. Empty if there is nothing to move, or no room for the memory that would follow.
  std::optional<ReportInterval> follow_gpus(const CounterDelta& delta);
  // When the next interval should end, after any of these.
  NextLook next_look() const { return next_look_; }

  // From now on moves are judged by the program's pace (Trial). For a step that runs: recorded
  // traffic has the pace of the recorded mapping.
  void try_moves();

  const CostModel& model() const { return model_; }
  // The traffic of all intervals by domain: before = if no rank had moved, after = as they moved.
  // Empty if neither report= nor verbose asks for it.
  const TrafficChange& levels() const { return levels_; }

 private:
  // A mapping that could be applied, and the memory that would follow, read when it is needed.
  struct Option {
    Mapping mapping;
    bool follows = false;  // the memory, at once
    double cost = 0;
    std::optional<std::vector<FollowingMemory>> memory;
    bool is_ruled_out = false;
  };
  ReportInterval line_of(const CounterDelta& delta, const Cost& now) const;
  Cost cost_of(const Mapping& mapping, const CounterDelta& delta) const;
  double cost_at_start(const CounterDelta& delta, double cost_now);
  Result<KnownAnswer> map(const CounterDelta& delta, double cost_now);
  Mapping permitted(Mapping wanted, const CounterDelta& delta) const;
  Candidate candidate(Option& option);
  double price_of(const Option& option, std::span<const FollowingMemory> memory) const;
  bool is_memory_away() const;
  bool is_worth_leaving(const Mapping& wanted, double promise) const;
  Candidate bring_left(Option& left, const CounterDelta& delta);
  Decision decide(const CounterDelta& delta, double seconds, double cost_now, Mapping& chosen);
  std::optional<Mapping> recorded(Mapping mapping, const RecordedTurn& turn) const;
  std::vector<FollowingMemory> memory_of_moved(const Mapping& from, const Mapping& to);
  CostModel model_of_step() const;
  TrafficChange levels_of(const Traffic& traffic, const Cost& now) const;
  void count_levels(const TrafficChange& levels, ReportInterval& line);
  void note_applied(const ApplyResult& applied, const CounterDelta& delta, ReportInterval& line);

  const Options& options_;
  const Machine& whole_;
  Placement& placement_;
  Ranks& ranks_;
  const MachineFile* measured_;
  std::vector<std::optional<std::size_t>> adapter_of_;
  CostModel model_;
  Decider decider_;
  RankMemory memory_;
  KnownMapping known_;
  double cpu_seconds_ = 0;   // of this process, at the last decision
  const bool only_watches_;  // decide=never, and nothing else forbids moves
  Mapping start_;            // the mapping that the ledger compares with
  Mapping proven_;           // in force when no moves were on trial
  Mapping memory_at_;        // in force when no memory was left behind
  Mapping proven_memory_;    // memory_at_ when no moves were on trial
  TrafficChange levels_;
  NextLook next_look_ = NextLook::kLater;
};

}  // namespace ondeloc
