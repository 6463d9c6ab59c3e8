// SPDX-License-Identifier: Apache-2.0
// ondeloc replay: the decisions of the online loop over a recorded series, interval by interval,
// with the algorithm, decision rule and interval rule of ondeloc-mapper. The mapping that is
// decided on after one interval is in force from the next.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mapcore/apps/overview.h"
#include "mapcore/apps/replayed_run.h"
#include "mapcore/base/json_text.h"

namespace ondeloc::cli {
namespace {

struct ReplayCommand {
  std::string file;
  ReplaySetup setup;
  std::string format = "table";
};

std::string to_text(const Replay& replay, const Run& run) {
  std::string text = fmt::format("{:>8} {:>8} {:>8} {:>6} {:>6} {:>4} {:>10} {:>8} {:>5} {}\n",
                                 "interval", "bytes", "cost", "remote", "peak", "seen",
                                 "their cost", "could be", "moved", "decision");
  for (const ReplayStep& step : replay.steps) {
    auto looked = [&](const std::string& cell) { return step.looked() ? cell : "-"; };
    text += fmt::format("{:>8} {:>8} {:>8} {:>6} {:>6.3f} {:>4} {:>10} {:>8} {:>5} {}\n",
                        step.interval, bytes_text(step.bytes), seconds_text(step.now.total),
                        share_text(step.now.remote_share), step.now.peak_load,
                        looked(std::to_string(step.seen)), looked(seconds_text(step.present.total)),
                        looked(seconds_text(step.candidate.total)), step.moved,
                        name_of(step.decision.kind));
  }
  text +=
      "cost, remote, peak: of this interval under the mapping in force; seen: intervals\n"
      "since the last look; their cost, could be: their sums, under the mapping\n"
      "in force and under the algorithm's; moved: ranks that change their NUMA node;\n"
      "decision ('ondeloc explain' tells more):\n";
  for (const DecisionInfo& info : decisions())
    text += fmt::format("  {:<9} {}\n", info.name, info.meaning);
  return text +
         fmt::format("\npredicted: messages {} + migrations {} = {}; without any move {}\n",
                     seconds_text(replay.cost), seconds_text(replay.migration),
                     seconds_text(replay.cost + replay.migration),
                     seconds_text(replay.start_cost)) +
         verdict_text(run);
}

std::string to_json_text(const Replay& replay, const Run& run) {
  nlohmann::ordered_json json = {
      {"intervals", nlohmann::json::array()}, {"cost", replay.cost},
      {"migration", replay.migration},        {"total", replay.cost + replay.migration},
      {"start_cost", replay.start_cost},      {"verdict", verdict(run)}};
  for (const ReplayStep& step : replay.steps) {
    json["intervals"].push_back({{"interval", step.interval},
                                 {"bytes", step.bytes},
                                 {"off_node_bytes", step.off_node_bytes},
                                 {"cost", step.now.total},
                                 {"remote_share", nullptr},
                                 {"peak_load", step.now.peak_load},
                                 {"looked", step.looked()},
                                 {"remapped", step.remapped()},
                                 {"decision", name_of(step.decision.kind)},
                                 {"moved", step.moved},
                                 {"migration", step.migration}});
    nlohmann::ordered_json& last = json["intervals"].back();
    if (step.now.remote_share) last["remote_share"] = *step.now.remote_share;
    if (step.looked()) {
      last["look"] = {{"intervals", step.seen},
                      {"cost", step.present.total},
                      {"candidate", step.candidate.total}};
    }
  }
  return json_text(json);
}

Result<std::string> run_replay(const ReplayCommand& options) {
  if (Status good = check_files({options.file, options.setup.start}, options.setup.machine, "");
      !good)
    return std::move(good).error();
  auto source = open_traffic(options.file, Need::kSeries);
  if (!source) return std::move(source).error();
  const auto replay = replay_source(options.setup, *source, options.file);
  if (!replay) return replay.error();
  const Run run = run_of(*replay, options.setup.loop);
  return options.format == "json" ? to_json_text(*replay, run) : to_text(*replay, run);
}

}  // namespace

void add_replay(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("replay", "show the decisions that --ondeloc=online would have made");
  auto options = std::make_shared<ReplayCommand>();
  command
      ->add_option("FILE,-i,--intervals", options->file,
                   "traffic over time: a profile, the report of an online run, or CSV with "
                   "interval,src,dst,bytes; - reads standard input")
      ->required();
  add_replay_options(*command, options->setup, "--interval,--seconds");
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(examples(
      {"ondeloc replay app.prof", "ondeloc replay -t node.xml intervals.csv --threshold 0.05"}));
  command->callback([options, &job] { job = [options] { return run_replay(*options); }; });
}

}  // namespace ondeloc::cli
