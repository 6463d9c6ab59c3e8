// SPDX-License-Identifier: Apache-2.0
// ondeloc explain: why ranks were moved or not, interval by interval and rule by rule. A report has
// the decisions; for a profile or a series the online loop is replayed.
#include <fmt/format.h>

#include <algorithm>

#include "mapcore/apps/overview.h"
#include "mapcore/apps/replayed_report.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/ranges_text.h"
#include "mapcore/base/text.h"
#include "mapcore/decide/explain.h"
#include "mapcore/input/report_run.h"

namespace ondeloc::cli {
namespace {

struct ExplainCommand {
  std::string file;
  ReplaySetup setup;
  int rank = -1;      // only the intervals in which it moved; -1: all
  int interval = -1;  // only this one, rule by rule; -1: all
};

bool concerns(const RunStep& step, int rank) {
  return rank < 0 || std::find(step.moved.begin(), step.moved.end(), rank) != step.moved.end();
}

std::string table_text(const Run& run, int rank) {
  std::string text = fmt::format("{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>5} {}\n", "interval", "at",
                                 "bytes", "cost", "gain", "needed", "moved", "decision");
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const RunStep& step = run.steps[i];
    const Decision& decision = step.decision;
    if (!concerns(step, rank)) continue;
    const double gain = decision.gain;
    text +=
        fmt::format("{:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>5} {}\n", i, seconds_text(step.end),
                    bytes_text(step.bytes), seconds_text(step.cost), seconds_text(gain),
                    seconds_text(decision.threshold), step.moved.size(), name_of(decision.kind));
  }
  return text;
}

// The meaning of each decision that the run has.
std::string legend_text(const Run& run) {
  std::string text = "gain, needed: predicted seconds for the messages that are decided on\n";
  for (const DecisionInfo& info : decisions()) {
    if (std::any_of(run.steps.begin(), run.steps.end(),
                    [&](const RunStep& step) { return step.decision.kind == info.kind; }))
      text += fmt::format("  {:<9} {}\n", info.name, info.meaning);
  }
  return text;
}

std::string rank_text(const Run& run, int rank, const std::vector<ReportedRank>& ranks) {
  const auto count = static_cast<std::size_t>(
      std::count_if(run.steps.begin(), run.steps.end(),
                    [&](const RunStep& step) { return concerns(step, rank); }));
  std::string text =
      count == 0 ? fmt::format("rank {} was never moved\n", rank)
                 : fmt::format("rank {} was moved in {}\n", rank, counted(count, "interval"));
  for (const ReportedRank& one : ranks) {
    if (one.rank == rank)
      text += fmt::format("CPUs {} at the start, {} at the end\n", one.first_cpus, one.last_cpus);
  }
  return text;
}

// The GPUs of the ranks that use any.
std::string gpus_text(const std::vector<ReportedRank>& ranks, int rank) {
  std::string text;
  for (const ReportedRank& one : ranks) {
    if (!one.gpus.empty() && (rank < 0 || rank == one.rank))
      text += fmt::format("rank {} used GPU {}\n", one.rank, one.gpus);
  }
  return text.empty() ? "" : "\n" + text;
}

Status check_rank(int rank, const std::vector<ReportedRank>& ranks) {
  std::vector<int> all;
  for (const ReportedRank& one : ranks) all.push_back(one.rank);
  if (rank < 0 || std::find(all.begin(), all.end(), rank) != all.end()) return {};
  std::sort(all.begin(), all.end());
  return Error(fmt::format("--rank: the run has {}, numbered {}", counted(all.size(), "rank"),
                           ranges_text(all)));
}

Result<std::string> explain(const ReportRun& report, const ExplainCommand& options) {
  const Run& run = report.run;
  if (Status known = check_rank(options.rank, report.ranks); !known)
    return std::move(known).error();
  if (options.interval >= 0) {
    const auto index = static_cast<std::size_t>(options.interval);
    if (index >= run.steps.size())
      return Error(fmt::format("--interval: the run has {}, numbered from 0",
                               counted(run.steps.size(), "interval")));
    return interval_text(run, index);
  }
  std::string text = table_text(run, options.rank) + legend_text(run);
  if (options.rank >= 0) text += "\n" + rank_text(run, options.rank, report.ranks);
  text += gpus_text(report.ranks, options.rank);
  if (options.rank < 0 && !report.adapters.empty()) text += "\n" + adapters_text(report.adapters);
  return text + "\n" + verdict_text(run);
}

Result<std::string> run_explain(const ExplainCommand& options) {
  if (Status good = check_files({options.file, options.setup.start}, options.setup.machine, "");
      !good)
    return std::move(good).error();
  auto file = load_input(options.file, Need::kSeries);
  if (!file) return std::move(file).error();
  if (file->kind == InputKind::kReport) {
    if (Status good = check_without_replay(options.setup, file->name); !good)
      return std::move(good).error();
    const auto report = parse_report_run(file->text, file->name);
    if (!report) return report.error();
    return explain(*report, options);
  }
  const auto report = replayed_report(options.setup, *std::move(file), options.file);
  if (!report) return report.error();
  return explain(*report, options);
}

}  // namespace

void add_explain(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("explain", "why ranks were moved or not, rule by rule");
  auto options = std::make_shared<ExplainCommand>();
  command
      ->add_option("FILE", options->file,
                   "the report of an online run; a profile, or CSV with interval,src,dst,bytes: "
                   "show the decisions that --ondeloc=online would have made; - reads standard "
                   "input")
      ->required();
  CLI::Option* rank =
      command->add_option("--rank", options->rank, "only the intervals in which this rank moved")
          ->check(CLI::Range(0, kMaxWorldRank));
  command->add_option("--interval", options->interval, "only this interval, with every rule")
      ->check(CLI::Range(0, 1 << 30))
      ->excludes(rank);
  add_replay_options(*command, options->setup, "--seconds");
  command->footer(
      examples({"ondeloc explain report.json", "ondeloc explain report.json --interval 0",
                "ondeloc explain app.prof -t 'numa:2 core:2 pu:1' --rank 3"}));
  command->callback([options, &job] { job = [options] { return run_explain(*options); }; });
}

}  // namespace ondeloc::cli
