// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mapcore/apps/cli.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"

namespace ondeloc::cli {
namespace {

struct CompareOptions {
  MachineOptions machine;
  SlotOptions slots;
  std::string matrix;
  std::vector<std::string> algorithms;
  std::string previous;
  std::string format = "table";
};

// Every algorithm that needs no argument, and what map uses.
std::vector<std::string> all_algorithms(int ranks) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.check("").ok()) names.emplace_back(info.name);
  }
  if (ranks <= kMostOfflineRanks) names.emplace_back(kOfflineAlgorithm);
  return names;
}

std::string row_text(const std::string& name, const TimedMapping& result) {
  const Cost& cost = result.cost;
  return fmt::format("{:<16} {:>10} {:>10} {:>10} {:>6} {:>6.3f} {:>5} {:>9}\n",
                     name.size() > 16 ? name.substr(0, 15) + "+" : name, seconds_text(cost.total),
                     seconds_text(cost.congestion), seconds_text(cost.locality),
                     share_text(cost.remote_share), cost.peak_load, result.migrations,
                     seconds_text(result.seconds));
}

nlohmann::ordered_json row_json(const std::string& name, const TimedMapping& result) {
  nlohmann::ordered_json json = {{"algorithm", name},
                                 {"total", result.cost.total},
                                 {"congestion", result.cost.congestion},
                                 {"locality", result.cost.locality},
                                 {"remote_share", nullptr},
                                 {"peak_load", result.cost.peak_load},
                                 {"migrations", result.migrations},
                                 {"seconds", result.seconds}};
  if (result.cost.remote_share) json["remote_share"] = *result.cost.remote_share;
  return json;
}

struct Planned {
  Planned(Layout plan, const CommMatrix& matrix)
      : layout(std::move(plan)), traffic(matrix.with_ranks(layout.ranks)) {}
  Layout layout;
  Traffic traffic;
};

// The slots that `ondeloc map` would give each algorithm: lama has its own, but where a present
// mapping says the slots. Each is planned once, since standard input is read once.
class Layouts {
 public:
  Layouts(const CompareOptions& options, const Place& place, const CommMatrix& matrix)
      : options_(options), place_(place), matrix_(matrix) {}

  Result<const Planned*> of(const std::string& algorithm) {
    SlotOptions slots = options_.slots;
    slots.single_threads = is_lama(algorithm) && options_.previous.empty();
    std::optional<Planned>& planned = slots.single_threads ? single_threads_ : usual_;
    if (!planned) {
      auto layout = plan_layout(place_, options_.machine, slots, matrix_, options_.previous);
      if (!layout) return std::move(layout).error();
      planned.emplace(*std::move(layout), matrix_);
    }
    return &*planned;
  }

 private:
  const CompareOptions& options_;
  const Place& place_;
  const CommMatrix& matrix_;
  std::optional<Planned> usual_, single_threads_;
};

Result<std::string> run_compare(const CompareOptions& options) {
  if (Status good = check_files({options.matrix, options.previous}, options.machine, ""); !good)
    return std::move(good).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  const auto matrix = read_matrix(options.matrix);
  if (!matrix) return matrix.error();
  Layouts layouts(options, *place, *matrix);
  std::string text =
      fmt::format("{:<16} {:>10} {:>10} {:>10} {:>6} {:>6} {:>5} {:>9}\n", "algorithm", "cost",
                  "congestion", "locality", "remote", "peak", "moves", "computed");
  nlohmann::ordered_json rows = nlohmann::json::array();
  for (const std::string& name :
       options.algorithms.empty() ? all_algorithms(matrix->ranks) : options.algorithms) {
    const auto planned = layouts.of(name);
    if (!planned) return planned.error();
    const auto result = run_algorithm(name, (*planned)->layout, (*planned)->traffic);
    if (!result) return result.error();
    text += row_text(name, *result);
    rows.push_back(row_json(name, *result));
  }
  if (options.format == "json") return json_text(rows);
  return text +
         "cost = congestion + locality, predicted; remote: share of bytes between NUMA\n"
         "nodes; peak: heaviest node / mean; moves: ranks that change their NUMA node\n";
}

}  // namespace

void add_compare(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("compare", "run several algorithms on one matrix");
  auto options = std::make_shared<CompareOptions>();
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots);
  command
      ->add_option("-m,--matrix", options->matrix,
                   "communication matrix, .mat or CSV; - reads standard input")
      ->required();
  command
      ->add_option(
          "-a,--algorithms", options->algorithms,
          fmt::format("names with commas between (default: all that need no argument, and {})",
                      kOfflineAlgorithm))
      ->delimiter(',');
  command
      ->add_option("-p,--previous", options->previous,
                   "the present mapping, our JSON or a rankfile")
      ->check(not_empty());
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(
      "Example:\n"
      "  ondeloc compare -t 'numa:4 core:8 pu:1' -m bytes.mat -a packed,ondeloc,coordinated");
  command->callback([options, &job] { job = [options] { return run_compare(*options); }; });
}

}  // namespace ondeloc::cli
