// SPDX-License-Identifier: Apache-2.0
// What the online loop would have done over a recorded series, interval by interval: the same
// algorithm, decision rule and interval rule as ondeloc-mapper, with the mapping that it decides on
// after one interval in force from the next.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mapcore/apps/cli.h"
#include "mapcore/base/json_text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/replay.h"

namespace ondeloc::cli {
namespace {

struct ReplayCommand {
  MachineOptions machine;
  SlotOptions slots;
  std::string intervals;
  std::string start;
  ReplayOptions replay;
  std::string format = "table";
};

const char* name_of(Decision decision) {
  return decisions()[static_cast<std::size_t>(decision)].name;
}

std::string to_text(const Replay& replay) {
  std::string text = fmt::format("{:>8} {:>8} {:>8} {:>6} {:>6} {:>4} {:>10} {:>8} {:>5} {}\n",
                                 "interval", "bytes", "cost", "remote", "peak", "seen",
                                 "their cost", "could be", "moved", "decision");
  for (const ReplayStep& step : replay.steps) {
    auto looked = [&](const std::string& cell) { return step.looked() ? cell : "-"; };
    text +=
        fmt::format("{:>8} {:>8} {:>8} {:>6} {:>6.3f} {:>4} {:>10} {:>8} {:>5} {}\n", step.interval,
                    bytes_text(step.bytes), seconds_text(step.now.total),
                    share_text(step.now.remote_share), step.now.peak_load,
                    looked(std::to_string(step.seen)), looked(seconds_text(step.present.total)),
                    looked(seconds_text(step.candidate.total)), step.moved, name_of(step.decision));
  }
  text +=
      "cost, remote, peak: of this interval under the mapping in force; seen: intervals\n"
      "since the last look; their cost, could be: of these together, under the mapping\n"
      "in force and under the algorithm's; moved: ranks that change their NUMA node;\n"
      "decision:\n";
  for (const DecisionInfo& info : decisions())
    text += fmt::format("  {:<9} {}\n", info.name, info.meaning);
  return text + fmt::format(
                    "predicted total {:.6g} s + migrations {:.6g} s = {:.6g} s\n"
                    "without any remapping {:.6g} s\n",
                    replay.cost, replay.migration, replay.cost + replay.migration,
                    replay.start_cost);
}

std::string to_json_text(const Replay& replay) {
  nlohmann::ordered_json json = {{"intervals", nlohmann::json::array()},
                                 {"cost", replay.cost},
                                 {"migration", replay.migration},
                                 {"total", replay.cost + replay.migration},
                                 {"start_cost", replay.start_cost}};
  for (const ReplayStep& step : replay.steps) {
    json["intervals"].push_back({{"interval", step.interval},
                                 {"bytes", step.bytes},
                                 {"cost", step.now.total},
                                 {"remote_share", nullptr},
                                 {"peak_load", step.now.peak_load},
                                 {"looked", step.looked()},
                                 {"remapped", step.remapped()},
                                 {"decision", name_of(step.decision)},
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
  if (auto known = find_algorithm(options.replay.algorithm); !known)
    return std::move(known).error();
  if (Status good = check_files({options.intervals, options.start}, options.machine, ""); !good)
    return std::move(good).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  auto series = read_intervals(options.intervals);
  if (!series) return series.error();
  auto layout = plan_layout(*place, options.machine, options.slots, series->front(), options.start);
  if (!layout) return layout.error();
  if (layout->previous.empty()) {
    for (int rank = 0; rank < layout->ranks; ++rank) layout->previous.emplace_back(rank);
  }
  for (CommMatrix& matrix : *series) matrix = matrix.with_ranks(layout->ranks);
  const auto replay = replay_series(
      {layout->machine, layout->slots, layout->model, layout->previous, layout->whole}, *series,
      options.replay);
  if (!replay) return replay.error();
  return options.format == "json" ? to_json_text(*replay) : to_text(*replay);
}

}  // namespace

void add_replay(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("replay", "what the online loop would have done over a recorded series");
  auto options = std::make_shared<ReplayCommand>();
  ReplayOptions& replay = options->replay;
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots);
  command
      ->add_option("-i,--intervals", options->intervals,
                   "CSV with interval,src,dst,bytes; - reads standard input")
      ->required();
  command->add_option("-a,--algorithm", replay.algorithm,
                      "see 'ondeloc algorithms' (default: coordinated)");
  command
      ->add_option("-p,--previous,--start", options->start,
                   "the mapping at the start, our JSON or a rankfile (default: rank i on the "
                   "i-th slot)")
      ->check(not_empty());
  command
      ->add_option("--seconds", replay.seconds,
                   "length of one interval of the file in seconds (default: 0.5)")
      ->check(finite(0.001, 4e6, "seconds"));
  command
      ->add_option("--threshold", replay.threshold,
                   "gain below this share of the present cost moves nobody (default: 0.02)")
      ->check(finite(0, 1));
  command
      ->add_option("--slope", replay.slope,
                   "factor by which the time between two looks changes, as slope= of --ondeloc "
                   "(default: 2)")
      ->check(finite(1.01, 100));
  command
      ->add_option("--max-interval", replay.max_seconds,
                   "longest time between two looks in seconds (default: 30)")
      ->check(finite(0.001, 4e6, "seconds"));
  command
      ->add_option("--resident", replay.resident,
                   "memory of each rank that moves with it, bytes, such as 4e9 where memory=follow "
                   "(default: 0, it stays)")
      ->check(finite(0, 1e18, "bytes"));
  command->add_flag("--always", replay.always, "apply every mapping that differs (decide=always)");
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer("Example:\n  ondeloc replay -t node.xml -i intervals.csv --threshold 0.05");
  command->callback([options, &job] { job = [options] { return run_replay(*options); }; });
}

}  // namespace ondeloc::cli
