// SPDX-License-Identifier: Apache-2.0
// Predicts the gain of a second run under another mapping, before anybody runs it. `ondeloc
// compare` and `ondeloc profile classify` print the prediction. Thread safety: for one thread.
#pragma once

#include <span>
#include <string>

#include "mapcore/apps/workload.h"
#include "mapcore/decide/verdict.h"

namespace ondeloc::cli {

// A mapping of the workload, with the name of its algorithm or "identity" for the present one.
struct TriedMapping {
  std::string name;
  Cost cost;
};

// The best of the mappings against the usual one. If several cost the same, the last one counts.
// REQUIRES: `base`, the name of the usual one, is among those tried.
Prospect prospect_of(std::span<const TriedMapping> tried, const std::string& base,
                     const Workload& work, const CostModel& model);

// The same for a file that is open as `source`. It tries Slurm's usual order and the mapping that
// `ondeloc map` would compute. Errors: no machine, ranks of several nodes, or ranks that do not fit
// on the machine.
Result<Prospect> predict_second_run(TrafficSource& source, const TrafficOptions& traffic,
                                    const MachineOptions& machine);

}  // namespace ondeloc::cli
