// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "mapcore/apps/cli.h"
#include "mapcore/base/json_text.h"
#include "mapcore/comm/matrix_io.h"

namespace ondeloc::cli {
namespace {

struct EvaluateOptions {
  MachineOptions machine;
  int ranks = 0;  // as SlotOptions::ranks
  std::string matrix;
  std::string intervals;
  std::string mapping;
  std::string format = "table";
};

struct Term {
  Cost cost;
  Loads loads;
};

// A cost is of ranks that are on one node each.
void say_spanning(const Machine& machine, const RankCpus& placement) {
  const auto spanning = std::count_if(placement.begin(), placement.end(), [&](const CpuSet& pus) {
    return std::count_if(machine.nodes.begin(), machine.nodes.end(),
                         [&](const NumaNode& node) { return node.pus.intersects(pus); }) > 1;
  });
  if (spanning == 0) return;
  fmt::print(stderr,
             "ondeloc: {} of {} ranks have CPUs of several NUMA nodes: each is counted on the one "
             "where it has most, or as if dealt evenly where all have the same\n",
             spanning, placement.size());
}

Term evaluate_terms(const Place& place, const SlotSet& slots, const CommMatrix& matrix) {
  Mapping mapping;  // rank i on slot i
  while (mapping.size() < slots.size()) mapping.emplace_back(static_cast<int>(mapping.size()));
  const Traffic traffic(matrix);
  return {evaluate(place.model, slots, traffic, mapping),
          add_up_loads(place.model, slots, traffic, mapping)};
}

nlohmann::ordered_json cost_json(const Cost& cost) {
  nlohmann::ordered_json json = {{"total", cost.total},
                                 {"congestion", cost.congestion},
                                 {"locality", cost.locality},
                                 {"remote_share", nullptr},
                                 {"peak_load", cost.peak_load}};
  if (cost.remote_share) json["remote_share"] = *cost.remote_share;
  return json;
}

std::string node_name(const Place& place, std::size_t k) {
  return numa_name(place.machine.nodes[k].os);
}

// Each node's and each used link's load, and the time that it alone would take.
std::string loads_text(const Place& place, const Loads& loads) {
  const std::size_t n = place.machine.nodes.size();
  std::string text =
      fmt::format("{:<14} {:>12} {:>14} {:>12}\n", "where", "load", "bandwidth", "predicted");
  auto row = [&](const std::string& what, double bytes, double rate) {
    text += fmt::format("{:<14} {:>12} {:>12}/s {:>12}\n", what, bytes_text(bytes),
                        bytes_text(rate), seconds_text(bytes / rate));
  };
  for (std::size_t k = 0; k < n; ++k)
    row("node " + node_name(place, k), loads.node[k], place.model.bandwidth[k]);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) {
      if (loads.link[k * n + l] <= 0) continue;
      row(fmt::format("link {}-{}", node_name(place, k), node_name(place, l)),
          loads.link[k * n + l], place.model.link[k * n + l]);
    }
  }
  return text;
}

std::string cost_text(const Cost& cost) {
  return fmt::format(
      "predicted cost  {:.6g} s = congestion {:.6g} s + locality {:.6g} s\n"
      "remote share    {}   (bytes between NUMA nodes / all bytes)\n"
      "peak load       {:.4f}   (heaviest node / mean)\n",
      cost.total, cost.congestion, cost.locality, share_text(cost.remote_share), cost.peak_load);
}

std::string series_text(const std::vector<Term>& terms) {
  std::string text = fmt::format("{:>8} {:>12} {:>12} {:>12} {:>8} {:>9}\n", "interval", "cost",
                                 "congestion", "locality", "remote", "peak load");
  Cost sum;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Cost& cost = terms[t].cost;
    text += fmt::format("{:>8} {:>12} {:>12} {:>12} {:>8} {:>9.3f}\n", t, seconds_text(cost.total),
                        seconds_text(cost.congestion), seconds_text(cost.locality),
                        share_text(cost.remote_share), cost.peak_load);
    sum.total += cost.total;
    sum.congestion += cost.congestion;
    sum.locality += cost.locality;
  }
  return text + fmt::format("{:>8} {:>12} {:>12} {:>12}\n", "sum", seconds_text(sum.total),
                            seconds_text(sum.congestion), seconds_text(sum.locality));
}

std::string to_json_text(const Place& place, const std::vector<Term>& terms, bool is_series) {
  auto json = [&](const Term& term) {
    nlohmann::ordered_json one = {{"cost", cost_json(term.cost)},
                                  {"nodes", nlohmann::json::array()},
                                  {"links", nlohmann::json::array()}};
    const std::size_t n = place.machine.nodes.size();
    for (std::size_t k = 0; k < n; ++k) {
      one["nodes"].push_back({{"os", place.machine.nodes[k].os},
                              {"bytes", term.loads.node[k]},
                              {"bandwidth", place.model.bandwidth[k]}});
      for (std::size_t l = k + 1; l < n; ++l) {
        one["links"].push_back({{"from", place.machine.nodes[k].os},
                                {"to", place.machine.nodes[l].os},
                                {"bytes", term.loads.link[k * n + l]},
                                {"bandwidth", place.model.link[k * n + l]}});
      }
    }
    return one;
  };
  if (!is_series) return json_text(json(terms.front()));
  nlohmann::ordered_json all = {{"intervals", nlohmann::json::array()}};
  for (const Term& term : terms) all["intervals"].push_back(json(term));
  return json_text(all);
}

Result<std::vector<CommMatrix>> read_traffic(const EvaluateOptions& options) {
  if (!options.intervals.empty()) return read_intervals(options.intervals);
  auto matrix = read_matrix(options.matrix);
  if (!matrix) return std::move(matrix).error();
  return std::vector{*std::move(matrix)};
}

Result<std::string> run_evaluate(const EvaluateOptions& options) {
  if (Status good =
          check_files({options.matrix, options.intervals, options.mapping}, options.machine, "");
      !good)
    return std::move(good).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  const auto series = read_traffic(options);
  if (!series) return series.error();
  const CommMatrix& first = series->front();
  const auto ranks = number_of_ranks(first, options.ranks);
  if (!ranks) return ranks.error();
  const auto placement = read_placement(options.mapping, place->whole, place->usable,
                                        {*ranks, first.may_have_more && options.ranks == 0, {}});
  if (!placement) return placement.error();
  say_spanning(place->machine, *placement);
  const SlotSet slots = slots_of(place->machine, *placement);
  std::vector<Term> terms;
  const int placed = static_cast<int>(placement->size());
  for (const CommMatrix& matrix : *series)
    terms.push_back(evaluate_terms(*place, slots, matrix.with_ranks(placed)));
  const bool is_series = !options.intervals.empty();
  if (options.format == "json") return to_json_text(*place, terms, is_series);
  if (is_series) return series_text(terms);
  return cost_text(terms.front().cost) + "\n" + loads_text(*place, terms.front().loads);
}

}  // namespace

void add_evaluate(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("evaluate", "predict what a mapping costs, every term apart");
  auto options = std::make_shared<EvaluateOptions>();
  add_machine_options(*command, options->machine);
  add_ranks_option(*command, options->ranks);
  CLI::Option* matrix = command->add_option("-m,--matrix", options->matrix,
                                            "communication matrix, .mat or CSV; - reads "
                                            "standard input");
  CLI::Option* intervals = command->add_option("-i,--intervals", options->intervals,
                                               "a series: CSV with interval,src,dst,bytes; - reads "
                                               "standard input");
  matrix->excludes(intervals);
  command
      ->add_option("--mapping", options->mapping,
                   "the mapping: JSON of 'ondeloc map' or a rankfile; - reads standard input")
      ->required();
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(
      "Example:\n"
      "  ondeloc map -t node.xml -m bytes.mat -f json |\n"
      "    ondeloc evaluate -t node.xml -m bytes.mat --mapping -");
  command->callback([options, matrix, intervals, &job] {
    if (matrix->count() + intervals->count() == 0)
      throw CLI::RequiredError("one of --matrix and --intervals");
    job = [options] { return run_evaluate(*options); };
  });
}

}  // namespace ondeloc::cli
