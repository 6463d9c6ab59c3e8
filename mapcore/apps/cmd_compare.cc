// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "mapcore/apps/compare_nodes.h"
#include "mapcore/apps/domains_json.h"
#include "mapcore/apps/node_layouts.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/replayed_run.h"
#include "mapcore/apps/second_run.h"
#include "mapcore/apps/step_traffic.h"
#include "mapcore/apps/workload.h"
#include "mapcore/base/json_text.h"
#include "mapcore/decide/levels.h"
#include "mapcore/place/host_list.h"

namespace ondeloc::cli {
namespace {

struct CompareOptions {
  MachineOptions machine;
  SlotOptions slots;
  TrafficOptions traffic;
  std::vector<std::string> algorithms;
  std::string previous;
  std::string format = "table";
  int nodes = 0;                        // 0: one, and the mappings inside it
  std::vector<std::string> more_files;  // of other nodes
  Adapter adapter;
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

std::string name_cell(const std::string& name) {
  return name.size() > 14 ? name.substr(0, 13) + "+" : name;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-";
}

// The cells of a line, the name first. An empty one has no column.
std::string line_text(const std::array<std::string, 9>& cells) {
  constexpr std::array kWidths{14, 8, 10, 8, 8, 6, 5, 5, 8};
  std::string text = fmt::format("{:<{}}", cells[0], kWidths[0]);
  for (std::size_t i = 1; i < cells.size(); ++i)
    if (!cells[i].empty()) text += fmt::format(" {:>{}}", cells[i], kWidths[i]);
  return text + "\n";
}

std::string row_text(const std::string& name, const TimedMapping& result) {
  const Cost& cost = result.cost;
  return line_text({name_cell(name), seconds_text(cost.total), seconds_text(cost.congestion),
                    cost.busiest_rank < 0 ? "" : seconds_text(cost.busiest),
                    seconds_text(cost.locality), share_text(cost.remote_share),
                    fmt::format("{:.3f}", cost.peak_load), fmt::format("{}", result.migrations),
                    seconds_text(result.seconds)});
}

struct Row {
  std::string name;
  TimedMapping result;
};

nlohmann::ordered_json row_json(const Row& row) {
  const TimedMapping& result = row.result;
  nlohmann::ordered_json json = {{"algorithm", row.name},
                                 {"total", result.cost.total},
                                 {"congestion", result.cost.congestion},
                                 {"locality", result.cost.locality},
                                 {"remote_share", nullptr},
                                 {"peak_load", result.cost.peak_load},
                                 {"migrations", result.migrations},
                                 {"seconds", result.seconds}};
  if (result.cost.remote_share) json["remote_share"] = *result.cost.remote_share;
  if (result.cost.busiest_rank >= 0) json["busiest"] = result.cost.busiest;
  if (result.cost.far_share) {
    json["far_share"] = *result.cost.far_share;
    json["adapter_time"] = result.cost.adapter_time;
  }
  json["domains"] = domains_json(result.cost.domains);
  return json;
}

std::string to_json_text(const std::vector<Row>& rows) {
  nlohmann::ordered_json json = nlohmann::json::array();
  for (const Row& row : rows) json.push_back(row_json(row));
  return json_text(json);
}

bool has_ways(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.result.cost.far_share.has_value(); });
}

// A column for each level with traffic under any of the mappings, in percent, and one for the bytes
// that leave the node.
std::string levels_text(const std::vector<Row>& rows) {
  TrafficChange all;
  for (const Row& row : rows) all.after += row.result.cost.domains;
  const std::vector<Domain> used = used_domains(all);
  const bool ways = has_ways(rows);
  if (used.empty() && !ways) return "";
  std::string text = fmt::format("\n{:<16}", "% bytes/messages");
  for (const Domain domain : used) text += fmt::format(" {:>10}", short_level_name(domain));
  if (ways) text += fmt::format(" {:>10}", "off-node");
  for (const Row& row : rows) {
    text += fmt::format("\n{:<16}", name_cell(row.name));
    const DomainTraffic& levels = row.result.cost.domains;
    for (const Domain domain : used) {
      const auto d = static_cast<std::size_t>(domain);
      text +=
          fmt::format(" {:>10}", fmt::format("{}/{}", percent(levels.bytes[d], levels.all_bytes()),
                                             percent(levels.messages[d], levels.all_messages())));
    }
    if (ways)
      text += fmt::format(" {:>10}", percent(row.result.cost.far_share.value_or(0), 1) + " far");
  }
  return text + "\n";
}

// The verdict on a second run: the best of these mappings against the present one, or against
// Slurm's usual order. Empty if that one is not among them.
std::string second_run_text(const std::vector<Row>& rows, bool without_previous,
                            const Workload& work, const CostModel& model) {
  const std::string base = without_previous ? "packed" : "identity";
  std::vector<TriedMapping> tried;
  for (const Row& row : rows) tried.push_back({row.name, row.result.cost});
  if (std::none_of(tried.begin(), tried.end(), [&](const auto& one) { return one.name == base; }))
    return "";
  return verdict_text(prospect_of(tried, base, work, model));
}

struct Planned {
  Planned(Layout plan, const CommMatrix& matrix)
      : layout(std::move(plan)), traffic(matrix.with_ranks(layout.ranks)) {}
  Layout layout;
  Traffic traffic;
};

// The slots that `ondeloc map` would give each algorithm. lama has slots of its own unless a
// present mapping gives the slots. Each is planned once, since standard input can be read only
// once.
class Layouts {
 public:
  Layouts(const CompareOptions& options, const MachineChoice& choice, const Workload& work,
          int recorded_cpus)
      : options_(options), place_(choice), work_(work), recorded_cpus_(recorded_cpus) {}

  Result<const Planned*> of(const std::string& algorithm) {
    SlotOptions slots = options_.slots;
    slots.single_threads = is_lama(algorithm) && options_.previous.empty();
    if (slots.cpus_per_task == 0 && options_.previous.empty() && !slots.single_threads)
      slots.cpus_per_task = recorded_cpus_;
    std::optional<Planned>& planned = slots.single_threads ? single_threads_ : usual_;
    if (!planned) {
      auto layout = plan_layout(place_, options_.machine, slots, work_.matrix, options_.previous,
                                work_.part.ranks);
      if (!layout) return std::move(layout).error();
      layout->off_node = work_.off_node;
      planned.emplace(*std::move(layout), work_.matrix);
    }
    return &*planned;
  }

 private:
  const CompareOptions& options_;
  const MachineChoice& place_;
  const Workload& work_;
  int recorded_cpus_;  // of each rank; 0: unknown
  std::optional<Planned> usual_, single_threads_;
};

Result<std::string> run_compare_nodes(const CompareOptions& options) {
  if (!options.algorithms.empty() || !options.previous.empty())
    return Error(
        "--nodes compares distributions over nodes; leave out --algorithms and --previous");
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  std::vector<std::string> files = {options.traffic.file};
  files.insert(files.end(), options.more_files.begin(), options.more_files.end());
  const auto matrix = read_step_traffic(files, options.traffic.window, options.slots.ranks);
  if (!matrix) return matrix.error();
  return compare_nodes({options.nodes, options.slots, options.adapter, options.format == "json"},
                       *choice, *matrix);
}

Result<std::string> run_compare(const CompareOptions& options) {
  if (options.nodes > 0) return run_compare_nodes(options);
  if (!options.more_files.empty())
    return Error("several files are those of the nodes of a step; give --nodes N");
  if (Status good = check_files({options.traffic.file, options.previous}, options.machine, "");
      !good)
    return std::move(good).error();
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  auto source = open_traffic(options.traffic.file);
  if (!source) return std::move(source).error();
  const auto work = read_workload(*source, options.traffic);
  if (!work) return work.error();
  if (Status good = check_ranks_of_part(work->part, options.slots.ranks, options.traffic.file);
      !good)
    return std::move(good).error();
  const bool is_recorded = options.slots.cpus_per_task == 0 && options.previous.empty();
  const int ranks = std::max(work->matrix.ranks, options.slots.ranks);
  Layouts layouts(
      options, *choice, *work,
      is_recorded ? recorded_cpus_per_task(*source, options.traffic.file, *choice, ranks) : 0);
  std::string text;
  std::vector<Row> rows;
  const CostModel* model = nullptr;
  for (const std::string& name :
       options.algorithms.empty() ? all_algorithms(work->matrix.ranks) : options.algorithms) {
    const auto planned = layouts.of(name);
    if (!planned) return planned.error();
    const Traffic& traffic = (*planned)->traffic;
    model = &(*planned)->layout.model;
    auto result = run_algorithm(name, (*planned)->layout, traffic);
    if (!result) return std::move(result).error();
    text += row_text(name, *result);
    rows.push_back({name, *std::move(result)});
  }
  if (options.format == "json") return to_json_text(rows);
  text += levels_text(rows) + "\n" + second_run_text(rows, options.previous.empty(), *work, *model);
  const bool ranks_count = model != nullptr && model->knows_ranks;
  return line_text({"algorithm", "cost", "congestion", ranks_count ? "busiest" : "", "locality",
                    "remote", "peak", "moves", "computed"}) +
         text +
         (ranks_count
              ? "cost = congestion + busiest + locality, predicted; busiest: the rank whose\n"
                "messages take longest; remote: share of bytes between NUMA nodes; peak:\n"
                "heaviest node / mean; moves: ranks that change their NUMA node\n"
              : "cost = congestion + locality, predicted; remote: share of bytes between NUMA\n"
                "nodes; peak: heaviest node / mean; moves: ranks that change their NUMA node\n") +
         (has_ways(rows)
              ? "off-node: share of the bytes to other nodes that ranks send from another NUMA\n"
                "node than that of their network adapter\n"
              : "") +
         measured_text(*choice);
}

}  // namespace

void add_compare(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("compare", "compare mappings: which would gain how much");
  auto options = std::make_shared<CompareOptions>();
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots, kRecordedCpus);
  add_traffic(*command, options->traffic, "-m,--matrix")->required();
  add_window(*command, options->traffic);
  command
      ->add_option(
          "-a,--algorithms", options->algorithms,
          fmt::format("names with commas between (default: all that need no argument, and {})",
                      kOfflineAlgorithm))
      ->delimiter(',');
  add_previous_option(*command, "-p,--previous", options->previous,
                      "the present mapping: JSON of 'ondeloc map', a rankfile or a report");
  CLI::Option* nodes =
      command
          ->add_option("-N,--nodes", options->nodes,
                       "compare distributions over this many nodes, each like the topology")
          ->check(CLI::Range(1, static_cast<int>(kMostHosts)));
  command
      ->add_option("MORE", options->more_files,
                   "with --nodes: the profiles or reports of the other nodes")
      ->type_name("FILE");
  for (CLI::Option* network : add_network_options(*command, options->adapter))
    network->needs(nodes);
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(examples(
      {"ondeloc compare app.prof", "ondeloc compare ondeloc-1234.0.*.json --nodes 4",
       "ondeloc compare -t 'numa:4 core:8 pu:1' bytes.mat -a packed,ondeloc,coordinated"}));
  command->callback([options, &job] { job = [options] { return run_compare(*options); }; });
}

}  // namespace ondeloc::cli
