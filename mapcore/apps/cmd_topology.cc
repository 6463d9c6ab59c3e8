// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/overview.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/ranges_text.h"
#include "mapcore/base/text.h"

namespace ondeloc::cli {
namespace {

struct TopologyOptions {
  MachineOptions machine;
  std::string format = "table";
};

// A square with the nodes' numbers at its side and above; as many columns at a time as 80
// characters hold.
std::string square_text(const MachineChoice& choice, const char* title,
                        const std::vector<double>& values, double unit) {
  const std::size_t n = choice.machine.nodes.size();
  std::vector<std::string> names, cells;
  for (const NumaNode& node : choice.machine.nodes) names.push_back(numa_name(node.os));
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

std::string memory_text(std::uint64_t bytes) {
  return bytes == 0 ? "" : ", " + capacity_text(static_cast<double>(bytes));
}

// The caches of this level inside the PUs: how many of each size. Cores of several kinds have
// caches of several sizes.
std::string caches_inside(const Machine& machine, Level level, const char* name,
                          const CpuSet& pus) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const Cache& cache : machine.caches)
    if (cache.level == level && cache.pus.is_subset_of(pus)) ++counts[cache.bytes];
  std::string text;
  for (const auto& [bytes, count] : counts) {
    text += fmt::format(", {} {}", count, name);
    if (bytes > 0) text += " of " + capacity_text(static_cast<double>(bytes));
  }
  return text;
}

std::string llc_line(const Machine& machine, const Llc& llc) {
  std::set<int> cores;
  for (const Pu& pu : machine.pus)
    if (llc.pus.test(pu.os) && pu.at(Level::kCore) >= 0) cores.insert(pu.at(Level::kCore));
  const char* name = llc.level == Level::kL3 ? "L3" : llc.level == Level::kL2 ? "L2" : "no cache";
  std::string text = fmt::format("    {}{}: ", name, memory_text(llc.bytes));
  if (!cores.empty()) text += counted(cores.size(), "core") + ", ";
  text += "CPUs " + llc.pus.to_list();
  if (llc.level == Level::kL3) text += caches_inside(machine, Level::kL2, "L2", llc.pus);
  return text + "\n";
}

// Several if a NUMA node spans packages, as the firmware of some machines lets users choose.
std::vector<int> packages_of(const Machine& machine, const NumaNode& node) {
  std::set<int> packages;
  for (const Pu& pu : machine.pus)
    if (node.pus.test(pu.os)) packages.insert(machine.seat_of(pu).package);
  return {packages.begin(), packages.end()};
}

std::string node_text(const Machine& machine, NodeIndex k) {
  const NumaNode& node = machine.nodes[k];
  std::string text =
      fmt::format("  NUMA node {}{}{}: {}, CPUs {}\n", numa_name(node.os),
                  node.kind.empty() ? "" : " (" + node.kind + ")", memory_text(node.memory),
                  counted(node.pus.count(), "CPU"), node.pus.to_list());
  for (const Llc& llc : machine.llcs)
    if (llc.node == k) text += llc_line(machine, llc);
  return text;
}

bool is_alike(const OtherMemory& a, const OtherMemory& b) {
  return a.kind == b.kind && a.memory == b.memory && a.near == b.near;
}

// Memories that differ by their numbers only share a line. A GB200 has eight nodes for each GPU,
// because the GPU can be divided; seven of them have no memory if it is not.
std::string memories_text(const Machine& machine) {
  std::vector<std::pair<const OtherMemory*, std::vector<int>>> lines;
  for (const OtherMemory& memory : machine.other_memories) {
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const auto& known) { return is_alike(*known.first, memory); });
    if (line == lines.end()) line = lines.insert(lines.end(), {&memory, {}});
    line->second.push_back(memory.os);
  }
  std::string text;
  for (const auto& [memory, nodes] : lines) {
    const bool several = nodes.size() > 1;
    text += fmt::format("memory only: node{} {}{}{}{}, near CPUs {}\n", several ? "s" : "",
                        ranges_text(nodes), memory->kind.empty() ? "" : " (" + memory->kind + ")",
                        memory_text(memory->memory), several && memory->memory > 0 ? " each" : "",
                        memory->near.empty() ? "none" : memory->near.to_list());
  }
  return text;
}

// Packages, NUMA nodes and last-level caches as an indented tree, then what has no place in it.
std::string tree_text(const Machine& machine) {
  std::map<std::vector<int>, std::string> nodes_of;
  for (const NodeIndex k : machine.nodes.ids())
    nodes_of[packages_of(machine, machine.nodes[k])] += node_text(machine, k);
  std::string text;
  for (const auto& [packages, nodes] : nodes_of)
    text += fmt::format("package{} {}\n{}", packages.size() > 1 ? "s" : "", ranges_text(packages),
                        nodes);
  text += memories_text(machine);
  for (const CoreKind& kind : machine.core_kinds)
    text += fmt::format("kind of core{}: CPUs {}\n", kind.name.empty() ? "" : " " + kind.name,
                        kind.pus.to_list());
  for (const Device& device : machine.devices) text += device_text(device) + "\n";
  // lstopo leaves the CPUs outside its cgroup out of a file.
  if (!machine.offline.empty())
    text += fmt::format("offline{}: CPUs {}\n",
                        machine.source == "host" ? "" : ", or left out of the file",
                        machine.offline.to_list());
  return text;
}

// The latency of a message by the smallest domain that two ranks share. A machine file has no
// latency, hence 0, of a domain that is the smallest for no two cores.
std::string latency_text(const CostModel& model) {
  std::string text = "\nlatency of a message inside one\n";
  for (int d = 0; d < kDomainCount; ++d)
    text += fmt::format("  {:<10} {:>8}\n", domain_name(static_cast<Domain>(d)),
                        model.latency[d] > 0 ? seconds_text(model.latency[d]) : "not measured");
  if (!model.port.empty())
    text += fmt::format("bandwidth of a cache to the rest of the chip: {}/s\n",
                        bytes_text(model.port.front()));
  return text;
}

std::string to_text(const MachineChoice& choice) {
  std::string text = fmt::format("source: {}\n{} of {}, {}\n", choice.whole.source,
                                 choice.usable.count(), counted(choice.whole.pus.size(), "CPU"),
                                 counted(choice.machine.nodes.size(), "NUMA node"));
  if (!choice.machine.model.empty()) text += fmt::format("CPU: {}\n", choice.machine.model);
  text += "\n" + tree_text(choice.machine) + "\n";
  text += fmt::format("{:>9}  {:>12}  {:>5}  {}\n", "NUMA node", "bandwidth", "CPUs", "which");
  for (std::size_t k = 0; k < choice.machine.nodes.size(); ++k) {
    const NumaNode& node = choice.machine.nodes[k];
    text +=
        fmt::format("{:>9}  {:>10}/s  {:>5}  {}\n", numa_name(node.os),
                    bytes_text(choice.model.bandwidth[k]), node.pus.count(), node.pus.to_list());
  }
  std::vector<double> distance;
  for (const double penalty : choice.model.penalty) distance.push_back(10 * (penalty + 1));
  text += square_text(choice, "distance (10 = local)", distance, 1);
  text += square_text(choice, "bandwidth between NUMA nodes (GB/s)", choice.model.link, 1e9);
  text += latency_text(choice.model);
  text += fmt::format("\nbandwidth from: {}\nlink bandwidth from: {}\ndistance from: {}\n",
                      choice.model.bandwidth_source, choice.model.link_source,
                      choice.model.distance_source);
  text += fmt::format("latency from: {}\ntime of a byte from: {}\n", choice.model.latency_source,
                      choice.model.byte_source);
  if (!choice.model.port.empty())
    text += fmt::format("cache bandwidth from: {}\n", choice.model.port_source);
  return text;
}

nlohmann::ordered_json devices_json(const Machine& machine) {
  nlohmann::ordered_json devices = nlohmann::json::array();
  for (const Device& device : machine.devices) {
    nlohmann::ordered_json entry = {{"name", device.name},
                                    {"kind", name_of(device.kind)},
                                    {"pci", device.pci},
                                    {"node", device.node},
                                    {"near", device.near.to_list()}};
    if (!is_gpu(device.kind)) {
      entry["state"] = name_of(device.state);
      entry["gigabits"] = nullptr;
      if (device.gigabits > 0) entry["gigabits"] = device.gigabits;
    }
    devices.push_back(std::move(entry));
  }
  return devices;
}

std::string to_json_text(const MachineChoice& choice) {
  nlohmann::ordered_json json = {{"source", choice.whole.source},
                                 {"cpus", choice.usable.to_list()},
                                 {"nodes", nlohmann::json::array()},
                                 {"link_bandwidth", choice.model.link},
                                 {"penalty", choice.model.penalty},
                                 {"bandwidth_source", choice.model.bandwidth_source},
                                 {"link_source", choice.model.link_source},
                                 {"distance_source", choice.model.distance_source}};
  json["latency_source"] = choice.model.latency_source;
  json["byte_source"] = choice.model.byte_source;
  json["model"] = choice.machine.model;
  for (int d = 0; d < kDomainCount; ++d) {
    auto& latency = json["latency"][domain_key(static_cast<Domain>(d))];
    if (choice.model.latency[d] > 0) latency = choice.model.latency[d];
  }
  json["caches"] = nlohmann::json::array();
  for (const Llc& llc : choice.machine.llcs)
    json["caches"].push_back({{"node", choice.machine.nodes[llc.node].os},
                              {"pus", llc.pus.to_list()},
                              {"bytes", llc.bytes}});
  json["devices"] = devices_json(choice.machine);
  for (std::size_t k = 0; k < choice.machine.nodes.size(); ++k) {
    json["nodes"].push_back({{"os", choice.machine.nodes[k].os},
                             {"pus", choice.machine.nodes[k].pus.to_list()},
                             {"bandwidth", choice.model.bandwidth[k]}});
  }
  return json_text(json);
}

Result<std::string> run_topology(const TopologyOptions& options) {
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  return options.format == "json" ? to_json_text(*choice) : to_text(*choice);
}

}  // namespace

void add_topology(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("topology", "show the machine, and where each number comes from");
  auto options = std::make_shared<TopologyOptions>();
  add_machine_options(*command, options->machine);
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command->footer(examples({"ondeloc topology --topology node.xml --cpuset 0-3"}));
  command->callback([options, &job] { job = [options] { return run_topology(*options); }; });
}

}  // namespace ondeloc::cli
