// SPDX-License-Identifier: Apache-2.0
// Reports of made steps, as the mapper would write them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "mapcore/decide/decider.h"
#include "mapcore/report/report_json.h"
#include "tests/unit/temp_dir.h"

namespace ondeloc {

struct MadeStep {
  std::uint32_t job = 1, step = 0;
  std::string node = "n1", program = "/opt/bin/lmp", partition = "batch";
  DecisionKind kind = DecisionKind::kKeeps;
  double bytes = 1e6, cost = 0.5, gain = 0, saved = 0;  // seconds of a run of ten
  bool complete = true, attached = true;
  double joules = 0;  // of the packages; 0: unknown
  std::uint32_t restarts = 0;
};

inline constexpr double kMadeSeconds = 10, kMadeCpu = 0.25;

// One interval that holds everything.
inline Report report_of(const MadeStep& made) {
  Report report;
  report.job = made.job;
  report.step = made.step;
  report.node = made.node;
  report.mode = "online";
  report.is_complete = made.complete;
  report.origin = {{"program", made.program}, {"user", "uid 1000"}, {"partition", made.partition}};
  if (made.restarts > 0) report.origin.emplace_back("restarts", fmt::format("{}", made.restarts));
  for (int rank = 0; rank < 4; ++rank) {
    ReportRank line;
    line.rank = line.local = rank;
    line.pid = made.attached ? 100 + rank : 0;
    report.ranks.push_back(line);
  }
  report.matrix = {{0, 1, static_cast<std::uint64_t>(made.bytes), 1}};
  ReportInterval interval;
  interval.t = kMadeSeconds;
  interval.bytes = made.bytes;
  interval.cost_before = made.cost;
  interval.decision = name_of(made.kind);
  interval.gain = made.gain;
  interval.ledger = -made.saved;
  if (made.kind == DecisionKind::kRemaps) interval.moved = {1, 2};
  report.intervals = {interval};
  report.wall_ms = kMadeSeconds * 1000;
  report.mapper_cpu_ms = kMadeCpu * 1000;
  if (made.joules > 0) report.counters.cache_misses = 7 * made.joules;
  if (made.joules > 0) report.energy = {kMadeSeconds, made.joules, made.joules / 10, "", ""};
  return report;
}

inline void write_made(const TempDir& dir, const MadeStep& made) {
  (void)write_site_report(dir.path(),
                          site_report_name(made.job, made.step, made.node, made.restarts),
                          to_json(report_of(made)));
}

}  // namespace ondeloc
