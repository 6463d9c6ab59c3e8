// SPDX-License-Identifier: Apache-2.0
// The running steps of the user on this node: what their mappers publish (mapper/live_report.h),
// and how busy the CPUs of each NUMA node are. Reads /proc as the user and needs no other right.
// Thread safety: for one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/input/report_run.h"

namespace ondeloc::cli {

// A step that was asked for: "123" or "123.0".
struct WantedStep {
  std::optional<std::uint64_t> job, step;
};
Result<WantedStep> parse_step(const std::string& text);

struct LiveSteps {
  std::vector<ReportRun> steps;     // ascending job and step
  std::size_t starting = 0;         // mappers that have not published anything yet
  std::vector<std::string> unread;  // a sentence for each report of another version
};
LiveSteps live_steps(const WantedStep& wanted);

// Time of each CPU since boot, in clock ticks, from /proc/stat.
struct CpuTime {
  double busy = 0, all = 0;
};
using CpuTimes = std::map<int, CpuTime>;
CpuTimes cpu_times();
// Share of the time between two readings in which the CPUs of the list were busy; none if unknown.
std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after,
                                 const std::string& cpus);

}  // namespace ondeloc::cli
