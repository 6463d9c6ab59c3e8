// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "mapcore/apps/cli.h"
#include "mapcore/base/json_text.h"

namespace ondeloc::cli {
namespace {

struct TopologyOptions {
  MachineOptions machine;
  std::string format = "table";
};

// A square with the nodes' numbers at its side and above; as many columns at a time as 80
// characters hold.
std::string square_text(const Place& place, const char* title, const std::vector<double>& values,
                        double unit) {
  const std::size_t n = place.machine.nodes.size();
  std::vector<std::string> names, cells;
  for (const NumaNode& node : place.machine.nodes) names.push_back(numa_name(node.os));
  for (const double value : values) cells.push_back(fmt::format("{:.4g}", value / unit));
  std::size_t width = 0;
  for (const auto* texts : {&names, &cells}) {
    for (const std::string& text : *texts) width = std::max(width, text.size());
  }
  const std::size_t columns = std::max<std::size_t>(1, (80 - 9) / (width + 1));
  std::string text = fmt::format("\n{}\n", title);
  for (std::size_t from = 0; from < n; from += columns) {
    const std::size_t to = std::min(n, from + columns);
    text += fmt::format("{}{:>9}", from == 0 ? "" : "\n", "NUMA node");
    for (std::size_t l = from; l < to; ++l) text += fmt::format(" {:>{}}", names[l], width);
    for (std::size_t k = 0; k < n; ++k) {
      text += fmt::format("\n{:>9}", names[k]);
      for (std::size_t l = from; l < to; ++l)
        text += fmt::format(" {:>{}}", cells[k * n + l], width);
    }
    text += "\n";
  }
  return text;
}

std::string to_text(const Place& place) {
  std::string text =
      fmt::format("source: {}\n{} CPUs of {}, {} NUMA node{}\n\n", place.whole.source,
                  place.usable.count(), place.whole.pus.size(), place.machine.nodes.size(),
                  place.machine.nodes.size() == 1 ? "" : "s");
  text += fmt::format("{:>9}  {:>12}  {:>5}  {}\n", "NUMA node", "bandwidth", "CPUs", "which");
  for (std::size_t k = 0; k < place.machine.nodes.size(); ++k) {
    const NumaNode& node = place.machine.nodes[k];
    text += fmt::format("{:>9}  {:>10}/s  {:>5}  {}\n", numa_name(node.os),
                        bytes_text(place.model.bandwidth[k]), node.pus.count(), node.pus.to_list());
  }
  std::vector<double> distance;
  for (const double penalty : place.model.penalty) distance.push_back(10 * (penalty + 1));
  text += square_text(place, "distance (10 = local)", distance, 1);
  text += square_text(place, "bandwidth between NUMA nodes (GB/s)", place.model.link, 1e9);
  return text + fmt::format("\nbandwidth from: {}\nlink bandwidth from: {}\ndistance from: {}\n",
                            place.model.bandwidth_source, place.model.link_source,
                            place.model.distance_source);
}

std::string to_json_text(const Place& place) {
  nlohmann::ordered_json json = {
      {"source", place.whole.source},           {"cpus", place.usable.to_list()},
      {"nodes", nlohmann::json::array()},       {"link_bandwidth", place.model.link},
      {"penalty", place.model.penalty},         {"bandwidth_source", place.model.bandwidth_source},
      {"link_source", place.model.link_source}, {"distance_source", place.model.distance_source}};
  for (std::size_t k = 0; k < place.machine.nodes.size(); ++k) {
    json["nodes"].push_back({{"os", place.machine.nodes[k].os},
                             {"pus", place.machine.nodes[k].pus.to_list()},
                             {"bandwidth", place.model.bandwidth[k]}});
  }
  return json_text(json);
}

Result<std::string> run_topology(const TopologyOptions& options) {
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  return options.format == "json" ? to_json_text(*place) : to_text(*place);
}

}  // namespace

void add_topology(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand(
      "topology", "show the machine as ondeloc sees it, and where each number comes from");
  auto options = std::make_shared<TopologyOptions>();
  add_machine_options(*command, options->machine);
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer("Example:\n  ondeloc topology --topology node.xml --cpuset 0-15");
  command->callback([options, &job] { job = [options] { return run_topology(*options); }; });
}

}  // namespace ondeloc::cli
