// SPDX-License-Identifier: Apache-2.0
// The text and the JSON of `ondeloc top`. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "mapcore/apps/live_steps.h"

namespace ondeloc::cli {

// Two readings of the CPUs' times; the load is that of the time between.
struct Load {
  CpuTimes before, after;
  std::optional<double> of(const std::string& cpus) const {
    return busy_share(before, after, cpus);
  }
};

std::vector<std::string> top_lines(const LiveSteps& live, const Load& load);
std::string top_json(const LiveSteps& live, const Load& load);

}  // namespace ondeloc::cli
