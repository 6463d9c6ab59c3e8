// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/site_report.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr auto kFates = std::to_array<FateRow>({
    {StepFate::kSilent, "silent", "ranks of one node sent each other nothing"},
    {StepFate::kShort, "short", "ended before a decision was due"},
    {StepFate::kNoStake, "no-stake",
     "the predicted time of messages is below the default of least-gain"},
    {StepFate::kStayed, "stayed", "no better mapping, or a rule forbade the move"},
    {StepFate::kMissed, "missed", "a better mapping was found and not applied"},
    {StepFate::kMoved, "moved", "ranks were moved"},
    {StepFate::kUncounted, "uncounted",
     "no process called MPI_Init with ondeloc's library, or ondeloc left it alone"},
    {StepFate::kUnfinished, "unfinished", "still runs, or was killed with its mapper"},
});

constexpr auto kMetrics = std::to_array<SiteMetric>({
    {"reports", "reports: one for each node of a step", &SiteSums::reports},
    {"ranks", "ranks", &SiteSums::ranks},
    {"run_seconds", "life of the mappers, summed over nodes", &SiteSums::seconds},
    {"mapper_cpu_seconds", "CPU time of the mappers", &SiteSums::mapper_cpu},
    {"predicted_cost_seconds", "predicted time of the messages", &SiteSums::at_stake},
    {"predicted_saved_seconds", "predicted saving of all moves, migrations paid", &SiteSums::saved},
    {"predicted_missed_seconds", "predicted saving of mappings that were found and not applied",
     &SiteSums::missed},
    {"bytes", "bytes between ranks of one node", &SiteSums::bytes},
    {"off_node_bytes", "bytes to other nodes", &SiteSums::off_node_bytes},
    {"remaps", "intervals in which ranks were moved", &SiteSums::remaps},
    {"migrations", "ranks that changed their NUMA node", &SiteSums::migrations},
    {"dropped_events", "events known to be lost", &SiteSums::dropped},
    {"energy_reports", "reports that tell the energy of the packages", &SiteSums::energy_reports},
    {"package_joules", "energy of the packages of the nodes, other jobs included",
     &SiteSums::package_joules},
    {"dram_joules", "energy of the memory of the nodes, other jobs included",
     &SiteSums::dram_joules},
    {"counter_reports", "reports that tell the cache misses of their ranks",
     &SiteSums::counter_reports},
    {"cache_misses", "cache misses of the ranks", &SiteSums::cache_misses},
});

StepFate fate_of(const ReportRun& run) {
  if (!run.complete) return StepFate::kUnfinished;
  if (run.attached == 0) return StepFate::kUncounted;
  switch (outcome(run.run)) {
    case Outcome::kUncounted:
      return StepFate::kUncounted;
    case Outcome::kSilent:
      return StepFate::kSilent;
    case Outcome::kMoved:
      return StepFate::kMoved;
    case Outcome::kShort:
      return StepFate::kShort;
    case Outcome::kNoStake:
      return StepFate::kNoStake;
    case Outcome::kMissed:
      return StepFate::kMissed;
    case Outcome::kStayed:
      break;
  }
  return StepFate::kStayed;
}

// "uid 1000", as origin has it.
uid_t user_of(std::string_view origin) {
  constexpr std::string_view kBefore = "uid ";
  if (!origin.starts_with(kBefore)) return 0;
  return static_cast<uid_t>(
      parse_unsigned(origin.substr(kBefore.size()), UINT32_MAX - 1).value_or(0));
}

// A report is not trusted: a negative number of its own would lessen the sums of others, and a huge
// one would outweigh them.
constexpr double kMostSeconds = 366 * 24 * 3600.0;  // of a run
constexpr double kMostBytes = 1e20;                 // more than memory moves in such a run
double amount(double number, double most) { return std::clamp(number, 0.0, most); }

SiteSums sums_of(const ReportRun& run) {
  SiteSums sums;
  sums.reports = 1;
  sums.ranks = static_cast<double>(run.ranks.size());
  sums.seconds = amount(run.wall_ms * 1e-3, kMostSeconds);
  sums.mapper_cpu = amount(run.mapper_cpu_ms * 1e-3, kMostSeconds);
  sums.saved = std::clamp(run.run.saved, -sums.seconds, sums.seconds);
  sums.missed = std::min(missed_by(run.run), sums.seconds);
  for (const RunStep& step : run.run.steps) sums.at_stake += amount(step.cost, kMostSeconds);
  sums.at_stake = std::min(sums.at_stake, kMostSeconds);
  sums.bytes = amount(bytes_of(run.run), kMostBytes);
  sums.off_node_bytes = amount(off_node_bytes_of(run.run), kMostBytes);
  sums.remaps = static_cast<double>(remaps_of(run.run));
  sums.migrations = static_cast<double>(run.migrations());
  sums.dropped = static_cast<double>(run.dropped);
  sums.energy_reports = run.use.package_joules ? 1 : 0;
  sums.package_joules = run.use.package_joules.value_or(0);
  sums.dram_joules = run.use.dram_joules.value_or(0);
  sums.counter_reports = run.use.cache_misses ? 1 : 0;
  sums.cache_misses = run.use.cache_misses.value_or(0);
  return sums;
}

auto step_key(const SiteReport& report) {
  return std::tie(report.job, report.restarts, report.step, report.user, report.node);
}

bool is_of_step(const SiteReport& report, const SiteStep& step) {
  return report.job == step.job && report.restarts == step.restarts && report.step == step.step &&
         report.user == step.user;
}

}  // namespace

std::span<const FateRow> step_fates() { return kFates; }

std::string_view name_of(StepFate fate) { return kFates[static_cast<std::size_t>(fate)].name; }

std::span<const SiteMetric> site_metrics() { return kMetrics; }

SiteSums& SiteSums::operator+=(const SiteSums& other) {
  for (const SiteMetric& metric : kMetrics) this->*metric.field += other.*metric.field;
  return *this;
}

SiteReport site_report_of(const ReportRun& run, uid_t owner, std::time_t written) {
  SiteReport report{run.job, run.restarts, run.step, run.node,     run.program,
                    {},      owner,        written,  fate_of(run), sums_of(run)};
  for (const auto& [key, value] : run.origin) {
    if (key == "partition") report.partition = value;
    if (key == "user" && owner == 0) report.user = user_of(value);
  }
  return report;
}

std::vector<SiteStep> steps_of(std::vector<SiteReport> reports) {
  std::sort(reports.begin(), reports.end(),
            [](const SiteReport& a, const SiteReport& b) { return step_key(a) < step_key(b); });
  std::vector<SiteStep> steps;
  for (const SiteReport& report : reports) {
    if (steps.empty() || !is_of_step(report, steps.back()))
      steps.push_back({report.job,
                       report.restarts,
                       report.step,
                       report.program,
                       report.partition,
                       report.user,
                       report.written,
                       report.fate,
                       {}});
    SiteStep& step = steps.back();
    step.written = std::max(step.written, report.written);
    step.fate = std::max(step.fate, report.fate);
    step.sums += report.sums;
  }
  return steps;
}

}  // namespace ondeloc
