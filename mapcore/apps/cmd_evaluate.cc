// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

#include "mapcore/apps/domains_json.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/workload.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/input/placement_source.h"

namespace ondeloc::cli {
namespace {

struct EvaluateOptions {
  MachineOptions machine;
  int ranks = 0;  // as SlotOptions::ranks
  TrafficOptions traffic;
  std::string intervals;
  double seconds = 0.5;  // length of an interval
  std::string mapping;
  std::string format = "table";
};

struct Term {
  Cost cost;
  std::vector<ResourceLoad> loads;
};

// The cost counts each rank on one node.
void say_spanning(const Machine& machine, const RankCpus& placement) {
  const auto spanning = std::count_if(placement.begin(), placement.end(), [&](const CpuSet& pus) {
    return std::count_if(machine.nodes.begin(), machine.nodes.end(),
                         [&](const NumaNode& node) { return node.pus.intersects(pus); }) > 1;
  });
  if (spanning == 0) return;
  say(fmt::format(
      "{} of {} ranks have CPUs of several NUMA nodes; each counts on the node where it "
      "has most CPUs, and ranks that all have the same CPUs count as spread evenly over "
      "these CPUs",
      spanning, placement.size()));
}

std::span<const double> off_node_of(const SeriesWorkload& series, std::size_t interval) {
  return interval < series.off_node.size() ? std::span<const double>(series.off_node[interval])
                                           : std::span<const double>();
}

bool sends_off_node(const SeriesWorkload& series, std::size_t rank) {
  return std::any_of(
      series.off_node.begin(), series.off_node.end(),
      [rank](const std::vector<double>& bytes) { return rank < bytes.size() && bytes[rank] > 0; });
}

void say_far(const MachineChoice& choice, const SlotSet& slots, const SeriesWorkload& series) {
  const AdapterPaths& ways = choice.model.adapters;
  std::vector<std::size_t> far;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int node = slots[i].node.value;
    if (sends_off_node(series, i) && ways.home_of(static_cast<int>(i), node) != node)
      far.push_back(i);
  }
  if (far.empty()) return;
  const std::size_t first = far.front();
  say(fmt::format(
      "the mapping puts {} of the ranks that send to other nodes on another NUMA node than their "
      "network adapter, such as rank {}; 'ondeloc topology' lists the CPUs near each adapter",
      far.size(),
      first < series.part.ranks.size() ? series.part.ranks[first] : static_cast<int>(first)));
}

Term evaluate_terms(const MachineChoice& choice, const SlotSet& slots, const CommMatrix& matrix,
                    std::span<const double> off_node) {
  Mapping mapping;  // rank i on slot i
  while (mapping.size() < slots.size()) mapping.emplace_back(static_cast<int>(mapping.size()));
  const Traffic traffic(matrix);
  return {
      evaluate(choice.model, slots, traffic, mapping, off_node),
      resource_loads(choice.model, add_up_loads(choice.model, slots, traffic, mapping, off_node))};
}

nlohmann::ordered_json cost_json(const Cost& cost) {
  nlohmann::ordered_json json = {{"total", cost.total},
                                 {"congestion", cost.congestion},
                                 {"locality", cost.locality},
                                 {"remote_share", nullptr},
                                 {"peak_load", cost.peak_load}};
  if (cost.remote_share) json["remote_share"] = *cost.remote_share;
  if (cost.busiest_rank >= 0) json["busiest"] = cost.busiest;
  if (cost.far_share) {
    json["far_share"] = *cost.far_share;
    json["adapter_time"] = cost.adapter_time;
  }
  return json;
}

// The load of each node and of what else has one, and the time that it alone would take.
std::string loads_text(const MachineChoice& choice, const std::vector<ResourceLoad>& loads) {
  std::string text =
      fmt::format("{:>12} {:>14} {:>12}  {}\n", "load", "bandwidth", "predicted", "where");
  for (const ResourceLoad& load : loads) {
    if (load.kind != Resource::kMemory && load.amount <= 0) continue;
    text +=
        fmt::format("{:>12} {:>12}/s {:>12}  {}\n", bytes_text(load.amount), bytes_text(load.rate),
                    seconds_text(load.seconds), resource_text(choice.machine, choice.model, load));
  }
  return text;
}

// The share of the bytes and messages that stays in each domain.
std::string split_text(const DomainTraffic& split) {
  double bytes = 0, messages = 0;
  for (int d = 0; d < kDomainCount; ++d) bytes += split.bytes[d], messages += split.messages[d];
  if (bytes + messages <= 0) return "";
  std::string text = fmt::format("\n{:<14} {:>12} {:>7} {:>12} {:>7}\n", "inside one", "bytes",
                                 "share", "messages", "share");
  const auto share = [](double part, double all) {
    return all > 0 ? fmt::format("{:.4f}", part / all) : std::string("-");
  };
  for (int d = 0; d < kDomainCount; ++d) {
    if (split.bytes[d] + split.messages[d] <= 0) continue;
    text +=
        fmt::format("{:<14} {:>12} {:>7} {:>12.4g} {:>7}\n", domain_name(static_cast<Domain>(d)),
                    bytes_text(split.bytes[d]), share(split.bytes[d], bytes), split.messages[d],
                    share(split.messages[d], messages));
  }
  return text;
}

std::string far_text(const Cost& cost) {
  if (!cost.far_share) return "";
  return fmt::format(
      "far share       {:.4f}   (off-node bytes of ranks on another NUMA node than their adapter\n"
      "                         / all off-node bytes; part of the locality: {})\n",
      *cost.far_share, seconds_text(cost.adapter_time));
}

std::string cost_text(const Cost& cost) {
  return fmt::format(
             "predicted cost  {} = {}\n"
             "remote share    {}   (bytes between NUMA nodes / all bytes)\n"
             "peak load       {:.4f}   (heaviest node / mean)\n",
             seconds_text(cost.total), terms_text(cost), share_text(cost.remote_share),
             cost.peak_load) +
         far_text(cost);
}

std::string series_text(const std::vector<Term>& terms) {
  const auto any = [&](auto has) { return std::any_of(terms.begin(), terms.end(), has); };
  const bool has_far = any([](const Term& term) { return term.cost.far_share.has_value(); });
  const bool has_ranks = any([](const Term& term) { return term.cost.busiest_rank >= 0; });
  const auto row = [&](const auto& first, const std::string& cost, const std::string& congestion,
                       const std::string& busiest, const std::string& locality) {
    return fmt::format("{:>8} {:>12} {:>12}{} {:>12}", first, cost, congestion,
                       has_ranks ? fmt::format(" {:>12}", busiest) : "", locality);
  };
  std::string text =
      row("interval", "cost", "congestion", "busiest rank", "locality") +
      fmt::format(" {:>8} {:>9}{}\n", "remote", "peak load", has_far ? "      far" : "");
  Cost sum;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const Cost& cost = terms[t].cost;
    text += row(t, seconds_text(cost.total), seconds_text(cost.congestion),
                seconds_text(cost.busiest), seconds_text(cost.locality)) +
            fmt::format(" {:>8} {:>9.3f}{}\n", share_text(cost.remote_share), cost.peak_load,
                        has_far ? fmt::format(" {:>8}", share_text(cost.far_share)) : "");
    sum.total += cost.total;
    sum.congestion += cost.congestion;
    sum.busiest += cost.busiest;
    sum.locality += cost.locality;
  }
  return text +
         row("sum", seconds_text(sum.total), seconds_text(sum.congestion),
             seconds_text(sum.busiest), seconds_text(sum.locality)) +
         "\n";
}

// The list of evaluate's JSON that has the resources of this kind.
const char* list_of(Resource kind) {
  switch (kind) {
    case Resource::kMemory:
      return "nodes";
    case Resource::kLink:
      return "links";
    case Resource::kPort:
      return "ports";
    case Resource::kAdapter:
      return "adapters";
  }
  return "";
}

nlohmann::ordered_json load_json(const MachineChoice& choice, const ResourceLoad& load) {
  nlohmann::ordered_json json;
  if (load.kind == Resource::kMemory) json["os"] = choice.machine.nodes[load.index].os;
  if (load.kind == Resource::kPort) json["pus"] = choice.machine.llcs[load.index].pus.to_list();
  if (load.kind == Resource::kAdapter) json["name"] = choice.model.adapters.pools[load.index].name;
  if (load.kind == Resource::kLink) {
    const LinkEnds ends = ends_of_link(choice.machine, choice.model, load.index);
    json[ends.are_packages ? "from_package" : "from"] = ends.from;
    json[ends.are_packages ? "to_package" : "to"] = ends.to;
  }
  json["bytes"] = load.amount;
  json["bandwidth"] = load.rate;
  return json;
}

nlohmann::ordered_json term_json(const MachineChoice& choice, const Term& term) {
  nlohmann::ordered_json json = {{"cost", cost_json(term.cost)},
                                 {"nodes", nlohmann::json::array()},
                                 {"links", nlohmann::json::array()}};
  for (const ResourceLoad& load : term.loads)
    json[list_of(load.kind)].push_back(load_json(choice, load));
  json["domains"] = domains_json(term.cost.domains);
  return json;
}

std::string to_json_text(const MachineChoice& choice, const std::vector<Term>& terms,
                         bool is_series) {
  if (!is_series) return json_text(term_json(choice, terms.front()));
  nlohmann::ordered_json all = {{"intervals", nlohmann::json::array()}};
  for (const Term& term : terms) all["intervals"].push_back(term_json(choice, term));
  return json_text(all);
}

const std::string& file_of(const EvaluateOptions& options) {
  return options.intervals.empty() ? options.traffic.file : options.intervals;
}

Result<SeriesWorkload> read_traffic(const EvaluateOptions& options) {
  const std::string& file = file_of(options);
  auto source = open_traffic(file, options.intervals.empty() ? Need::kTraffic : Need::kSeries);
  if (!source) return std::move(source).error();
  if (options.intervals.empty()) {
    auto work = read_workload(*source, options.traffic);
    if (!work) return std::move(work).error();
    return SeriesWorkload{
        std::move(work->part), {std::move(work->matrix)}, {std::move(work->off_node)}, {}};
  }
  return read_series(*source, file, options.seconds);
}

Result<RankCpus> read_mapping(const EvaluateOptions& options, const MachineChoice& choice,
                              const SeriesWorkload& series) {
  const CommMatrix& first = series.matrices.front();
  if (Status good = check_ranks_of_part(series.part, options.ranks, file_of(options)); !good)
    return std::move(good).error();
  const auto ranks = number_of_ranks(first, options.ranks);
  if (!ranks) return ranks.error();
  return read_placement(options.mapping, choice.whole, choice.usable,
                        ranks_to_place(first, options.ranks, series.part.ranks));
}

Result<std::string> run_evaluate(const EvaluateOptions& options) {
  if (Status good = check_files({options.traffic.file, options.intervals, options.mapping},
                                options.machine, "");
      !good)
    return std::move(good).error();
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  const auto series = read_traffic(options);
  if (!series) return series.error();
  const auto placement = read_mapping(options, *choice, *series);
  if (!placement) return placement.error();
  say_spanning(choice->machine, *placement);
  const SlotSet slots = slots_of(choice->machine, *placement);
  say_far(*choice, slots, *series);
  std::vector<Term> terms;
  const int placed = static_cast<int>(placement->size());
  for (std::size_t i = 0; i < series->matrices.size(); ++i)
    terms.push_back(evaluate_terms(*choice, slots, series->matrices[i].with_ranks(placed),
                                   off_node_of(*series, i)));
  const bool is_series = !options.intervals.empty();
  if (options.format == "json") return to_json_text(*choice, terms, is_series);
  if (is_series) return series_text(terms) + measured_text(*choice);
  return cost_text(terms.front().cost) + "\n" + loads_text(*choice, terms.front().loads) +
         split_text(terms.front().cost.domains) + measured_text(*choice);
}

}  // namespace

void add_evaluate(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("evaluate", "predict the cost of a mapping, term by term");
  auto options = std::make_shared<EvaluateOptions>();
  add_machine_options(*command, options->machine);
  add_ranks_option(*command, options->ranks);
  CLI::Option* matrix = add_traffic(*command, options->traffic, "-m,--matrix");
  CLI::Option* window = add_window(*command, options->traffic);
  CLI::Option* intervals = command->add_option(
      "-i,--intervals", options->intervals,
      "traffic over time instead: a profile, a report, or CSV with interval,src,dst,bytes");
  matrix->excludes(intervals);
  window->excludes(intervals);
  add_quantity(*command, "--interval", options->seconds, Quantity::kSeconds, 0.001, 4e6,
               "length of an interval of a profile or report (default: 500ms)")
      ->needs(intervals);
  command
      ->add_option("--mapping", options->mapping,
                   "the mapping: JSON of 'ondeloc map', a rankfile or a report; - reads standard "
                   "input")
      ->required();
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(examples({"ondeloc evaluate report.json --mapping report.json",
                            "ondeloc map -t node.xml bytes.mat -f json | ondeloc evaluate -t "
                            "node.xml bytes.mat --mapping -"}));
  command->callback([options, matrix, intervals, &job] {
    if (matrix->count() + intervals->count() == 0) throw CLI::RequiredError("FILE or --intervals");
    job = [options] { return run_evaluate(*options); };
  });
}

}  // namespace ondeloc::cli
