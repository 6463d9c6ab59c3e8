// SPDX-License-Identifier: Apache-2.0
// One turn of the mapper loop: from what was counted to ranks moved, and its line in the report.
// Thread safety: for one thread.
#pragma once

#include <optional>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/decide.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/report/report.h"

namespace ondeloc {

class Turn {
 public:
  // `whole`: the machine before it was restricted to the step. All references outlive the object.
  Turn(const Options& options, const Machine& whole, Placement& placement, Ranks& ranks)
      : options_(options),
        whole_(whole),
        placement_(placement),
        ranks_(ranks),
        model_(CostModel::from(placement.slots().machine)) {}

  // `seconds` = how long the traffic in `delta` took to come. Moves ranks when it is worth it.
  ReportInterval take(const CounterDelta& delta, double seconds);
  // The same line of the report without mapping: for the last turn.
  ReportInterval look(const CounterDelta& delta) const {
    return look(delta, Traffic(delta.matrix));
  }
  // Instead of take() where the step's CPUs changed: ranks are placed again, and nothing is mapped.
  // Another model, and the ledger starts anew. Empty where the ranks could not be placed.
  std::optional<ReportInterval> follow_cpuset(const CounterDelta& delta);

 private:
  ReportInterval look(const CounterDelta& delta, const Traffic& traffic) const;
  void note_applied(const ApplyResult& applied, const CounterDelta& delta, const Traffic& traffic,
                    ReportInterval& line) const;
  Result<Mapping> map(const Traffic& traffic, const CounterDelta& delta) const;
  std::optional<Mapping> better_mapping(const Traffic& traffic, const CounterDelta& delta,
                                        double seconds, double cost_now);
  double cost_at_start(const Traffic& traffic, const CounterDelta& delta);
  double migration_to(const Mapping& mapping, const std::vector<double>& bytes) const;
  bool has_room_for(const Mapping& mapping, const std::vector<double>& bytes) const;
  std::vector<double> private_bytes(const Mapping& mapping) const;

  const Options& options_;
  const Machine& whole_;
  Placement& placement_;
  Ranks& ranks_;
  CostModel model_;
  PhaseClock phase_;
  Ledger ledger_;
  Mapping start_;  // what the ledger compares with
};

}  // namespace ondeloc
