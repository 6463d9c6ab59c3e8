// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/replayed_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/apps/say.h"
#include "mapcore/base/quantity.h"
#include "mapcore/decide/levels.h"
#include "mapcore/devices/rank_adapter.h"
#include "mapcore/options/option_table.h"

namespace ondeloc::cli {

void add_replay_options(CLI::App& command, ReplaySetup& setup, const std::string& length) {
  ReplayOptions& replay = setup.loop;
  const auto text = [](std::string_view key) { return default_of(key_row(key)); };
  const auto others = static_cast<std::ptrdiff_t>(command.get_options().size());
  add_machine_options(command, setup.machine);
  add_slot_options(command, setup.slots, kOneCpu);
  command.add_option("-a,--algorithm", replay.algorithm,
                     fmt::format("see 'ondeloc algorithms' (default: {})", text("algorithm")));
  add_previous_option(command, "-p,--previous,--start", setup.start,
                      "the mapping at the start: JSON of 'ondeloc map', a rankfile or a report "
                      "(default: rank i on the i-th slot)");
  add_quantity(command, length, replay.seconds, Quantity::kSeconds, 0.001, 4e6,
               fmt::format("length of one interval (default: {})", text("interval")));
  command
      .add_option("--threshold", replay.threshold,
                  fmt::format("a gain below this share of the present cost moves no rank "
                              "(default: {})",
                              text("threshold")))
      ->check(finite(0, 1));
  command
      .add_option("--least-gain", replay.least_gain,
                  fmt::format("a gain below this share of the time moves no rank (default: {})",
                              text("least-gain")))
      ->check(finite(0, 1));
  command
      .add_option("--slope", replay.slope,
                  fmt::format("factor by which the time between two decisions changes (default: "
                              "{})",
                              text("slope")))
      ->check(finite(1.01, 100));
  setup.longest = add_quantity(
      command, "--max-interval", replay.max_seconds, Quantity::kSeconds, 0.001, 4e6,
      fmt::format("longest time between two decisions (default: {})", text("max-interval")));
  add_quantity(
      command, "--resident", replay.resident, Quantity::kBytes, 0, 1e18,
      "memory of each rank that moves with it in huge pages, such as 4GB for memory=follow "
      "(default: 0B, it stays)");
  CLI::Option* always = command.add_flag_callback(
      "--always", [&replay] { replay.rule = Decide::kAlways; },
      "apply every mapping that differs (decide=always)");
  command
      .add_flag_callback(
          "--many", [&replay] { replay.rule = Decide::kMany; },
          "apply a mapping if more than ranks / nodes ranks change their NUMA node, or on one node "
          "their last-level cache (decide=many)")
      ->excludes(always);
  const std::vector<CLI::Option*> all = command.get_options();
  setup.options.assign(all.begin() + others, all.end());
}

Status check_without_replay(const ReplaySetup& setup, const std::string& name) {
  const auto given = std::find_if(setup.options.begin(), setup.options.end(),
                                  [](const CLI::Option* option) { return option->count() > 0; });
  if (given == setup.options.end()) return {};
  return Error(fmt::format("'{}' tells what was decided; use 'ondeloc replay' to try {}", name,
                           (*given)->get_name()));
}

namespace {

// A longer --interval alone makes the longest time longer, as in a job.
Status check_longest(const ReplaySetup& setup) {
  const ReplayOptions& loop = setup.loop;
  if (loop.max_seconds >= loop.seconds || setup.longest->count() == 0) return {};
  return Error(fmt::format("--max-interval: {} is below the interval of {}",
                           seconds_text(loop.max_seconds), seconds_text(loop.seconds)));
}

}  // namespace

Result<ReplayedSource> replay_with_layout(const ReplaySetup& setup, TrafficSource& source,
                                          const std::string& file) {
  if (auto known = find_algorithm(setup.loop.algorithm); !known) return std::move(known).error();
  if (Status good = check_longest(setup); !good) return std::move(good).error();
  const auto choice = load_machine_choice(setup.machine);
  if (!choice) return choice.error();
  auto series = read_series(source, file, setup.loop.seconds);
  if (!series) return std::move(series).error();
  if (Status good = check_ranks_of_part(series->part, setup.slots.ranks, file); !good)
    return std::move(good).error();
  std::vector<CommMatrix>& matrices = series->matrices;
  auto layout = plan_layout(*choice, setup.machine, setup.slots, matrices.front(), setup.start,
                            series->part.ranks);
  if (!layout) return std::move(layout).error();
  if (layout->previous.empty()) {
    for (int rank = 0; rank < layout->ranks; ++rank) layout->previous.emplace_back(rank);
  }
  for (CommMatrix& matrix : matrices) matrix = matrix.with_ranks(layout->ranks);
  // A running rank keeps its adapter. Which of several that is, the file does not tell.
  if (usual_adapters(layout->machine.devices).size() > 1) layout->model.adapters = {};
  auto replay = replay_series(
      {layout->machine, layout->slots, layout->model, layout->previous, layout->whole}, matrices,
      setup.loop, series->off_node, series->run_seconds);
  if (!replay) return std::move(replay).error();
  layout->whole = nullptr;  // it ends with `choice`
  return ReplayedSource{*std::move(replay), *std::move(layout), std::move(matrices)};
}

Result<Replay> replay_source(const ReplaySetup& setup, TrafficSource& source,
                             const std::string& file) {
  auto replayed = replay_with_layout(setup, source, file);
  if (!replayed) return std::move(replayed).error();
  return std::move(replayed->replay);
}

namespace {

std::string verdict_line(const std::string& sentence) {
  constexpr std::size_t kVerdictWidth = 80;
  return wrapped("verdict: " + sentence, kVerdictWidth, 2) + "\n";
}

}  // namespace

std::string verdict_text(const Run& run) { return verdict_line(verdict(run)); }
std::string verdict_text(const Prospect& prospect) { return verdict_line(verdict(prospect)); }

Run run_of(const Replay& replay, const ReplayOptions& loop) {
  Run run;
  run.replayed = true;
  run.decide = loop.rule;
  run.saved = replay.start_cost - replay.cost - replay.migration;
  run.crossing_at_start = share_between_nodes(replay.levels.before);
  run.crossing_as_moved = share_between_nodes(replay.levels.after);
  for (const ReplayStep& step : replay.steps) {
    RunStep one;
    one.begin = step.begin;
    one.end = step.end;
    one.bytes = step.bytes;
    one.off_node_bytes = step.off_node_bytes;
    one.cost = step.now.total;
    one.remote_before = step.now.remote_share;
    one.remote_after = step.remote_after;
    one.peak_load = step.now.peak_load;
    one.decision = step.decision;
    one.looked_seconds = step.seen_seconds;
    one.moved = step.ranks;
    run.steps.push_back(std::move(one));
  }
  return run;
}

}  // namespace ondeloc::cli
