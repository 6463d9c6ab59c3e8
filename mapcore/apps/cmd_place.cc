// SPDX-License-Identifier: Apache-2.0
// ondeloc place: ranks over compute nodes, then over the CPUs of each node.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "mapcore/apps/node_layouts.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/step_traffic.h"
#include "mapcore/apps/workload.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/new_file.h"
#include "mapcore/base/ranges_text.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/shell_word.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/lama.h"
#include "mapcore/options/algorithm_table.h"
#include "mapcore/place/host_list.h"
#include "mapcore/place/lama_nodes.h"

namespace ondeloc::cli {
namespace {

struct PlaceCommand {
  std::vector<std::string> files;
  std::vector<std::string> topologies = {"host"};
  std::string hosts;  // empty: SLURM_JOB_NODELIST, else unknown
  std::string window;
  int nodes = 0;  // 0: as many as there are hosts or topologies
  int ranks = 0;
  int cpus_per_task = 0;  // 0: not given, one
  Adapter adapter;
  std::string algorithm;  // of both stages; empty: offline_algorithm()
  std::string lama;       // a layout; empty: place by traffic
  std::string format = "table";
  std::string prefix;  // empty: no files
};

// The nodes that a step is to have.
struct Site {
  std::vector<std::string> names;  // "node 0", "node 1", ... if the hosts are not known
  bool has_hosts = false;
  Places places;
};

// The hosts of --hosts or of the job; empty: unknown.
Result<std::vector<std::string>> find_hosts(const PlaceCommand& options) {
  if (!options.hosts.empty()) return expand_hosts(options.hosts);
  const char* job = std::getenv("SLURM_JOB_NODELIST");
  if (job == nullptr || *job == '\0') return std::vector<std::string>();
  auto names = expand_hosts(job);
  if (!names) return std::move(names).error().within("SLURM_JOB_NODELIST");
  // Outside the job that the variable names, somebody plans for another number of nodes.
  if (options.nodes > 0 && static_cast<std::size_t>(options.nodes) != names->size())
    return std::vector<std::string>();
  return names;
}

Result<Site> find_site(const PlaceCommand& options) {
  auto hosts = find_hosts(options);
  if (!hosts) return std::move(hosts).error();
  Site site{*std::move(hosts), false, {}};
  site.has_hosts = !site.names.empty();
  const std::size_t given = options.topologies.size();
  std::size_t nodes = static_cast<std::size_t>(options.nodes);
  if (nodes == 0) nodes = site.has_hosts ? site.names.size() : given > 1 ? given : 0;
  if (nodes == 0)
    return Error("the number of nodes is not known; give --nodes N or --hosts node[0-3]");
  if (site.has_hosts && site.names.size() != nodes)
    return Error(
        fmt::format("--hosts names {} hosts, but --nodes is {}", site.names.size(), nodes));
  if (given != 1 && given != nodes)
    return Error(fmt::format("{} topologies are given for {} nodes; give one for all, or one each",
                             given, nodes));
  if (!site.has_hosts) site.names = numbered_nodes(nodes);
  for (const std::string& topology : options.topologies) {
    auto place = load_machine_choice({topology, "", "", {}});
    if (!place) return std::move(place).error();
    site.places.push_back(std::make_shared<const MachineChoice>(*std::move(place)));
  }
  site.places.resize(nodes, site.places.front());
  return site;
}

RankCpus cpus_of(const NodeMapping& node) {
  RankCpus cpus;
  for (const Slot& slot : node.mapping.slots) cpus.push_back(slot.pus);
  return cpus;
}

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no ranks";
  return fmt::format("{}: {}", counted(ranks.size(), "rank"), ranges_text(ranks));
}

std::string to_text(const std::vector<LayoutRow>& rows, const std::vector<NodeMapping>& nodes,
                    const Site& site) {
  std::string text = layout_head() + "\n";
  for (const LayoutRow& row : rows) text += layout_cells(row) + "\n";
  text += kLayoutLegend + std::string("\n");
  for (std::size_t k = 0; k < nodes.size(); ++k)
    text += wrapped(fmt::format("{}: {}", site.names[k], ranks_text(nodes[k].ranks)), 80, 2) + "\n";
  return text;
}

std::string to_json_text(const std::vector<LayoutRow>& rows, const std::vector<NodeMapping>& nodes,
                         const Site& site) {
  nlohmann::ordered_json out = {{"layouts", nlohmann::json::array()},
                                {"nodes", nlohmann::json::array()}};
  for (const LayoutRow& row : rows) out["layouts"].push_back(layout_json(row, site.names));
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    nlohmann::ordered_json node = {{"node", site.names[k]}, {"ranks", nlohmann::json::array()}};
    const RankCpus cpus = cpus_of(nodes[k]);
    for (std::size_t i = 0; i < cpus.size(); ++i)
      node["ranks"].push_back({{"rank", nodes[k].ranks[i]}, {"cpus", cpus[i].to_list()}});
    out["nodes"].push_back(std::move(node));
  }
  return json_text(out);
}

// PREFIX.hosts: one host for each rank, in the order of ranks, as SLURM_HOSTFILE has them.
// PREFIX.ranks: the rankfile of all nodes.
Result<std::string> write_files(const PlaceCommand& options, const Site& site,
                                const NodeOfRank& layout, const std::vector<NodeMapping>& nodes) {
  std::string hosts, ranks;
  for (const int node : layout) hosts += site.names[node] + "\n";
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto text = to_rankfile(site.places[k]->whole, site.places[k]->usable, cpus_of(nodes[k]),
                                  nodes[k].layout.names);
    if (!text) return text.error();
    ranks += *text;
  }
  for (const auto& [name, text] :
       {std::pair(options.prefix + ".hosts", &hosts), {options.prefix + ".ranks", &ranks}})
    if (Status written = write_new_file(name, *text); !written) return std::move(written).error();
  // Without -N: Slurm 24.11 refuses it beside this distribution. Without -c: it implies --exact,
  // and Slurm chooses the CPUs of such a step, which may lack those of the rankfile.
  return fmt::format(
      "\nstart the step with:\n"
      "  SLURM_HOSTFILE={0}.hosts srun -n{1} --distribution=arbitrary \\\n"
      "      --ondeloc=static:{0}.ranks ./app\n",
      shell_word(options.prefix), layout.size());
}

Status check_place(const PlaceCommand& options, const Site& site) {
  if (options.prefix == "-")
    return Error("--output: place writes two files; give what their names begin with");
  if (!options.prefix.empty() && !site.has_hosts)
    return Error(
        "--output needs the names of the nodes; give --hosts node[0-3], or run the command in the "
        "job");
  for (const std::string& file : options.files)
    for (const char* suffix : {".hosts", ".ranks"})
      if (!options.prefix.empty())
        if (Status good = check_output(file, options.prefix + suffix); !good) return good;
  return {};
}

// Ranks over nodes, and the mapping inside each node. `rows`: the chosen one is the last.
struct Placement {
  std::vector<LayoutRow> rows;
  std::vector<NodeMapping> nodes;
};

// `room`: the ranks of each node in srun's distributions.
Result<Placement> place_by_traffic(const PlaceCommand& options, const Site& site,
                                   const CommMatrix& matrix, const std::vector<int>& room) {
  auto rows = layout_rows(options.adapter, Traffic(matrix), room, options.algorithm);
  if (!rows) return std::move(rows).error();
  Placement placement{*std::move(rows), {}};
  SlotOptions slots;
  slots.cpus_per_task = options.cpus_per_task;
  for (const std::vector<int>& ranks :
       ranks_by_node(placement.rows.back().layout, site.names.size())) {
    if (ranks.empty()) {  // there are more nodes than ranks
      placement.nodes.emplace_back();
      continue;
    }
    const std::size_t k = placement.nodes.size();
    auto node = map_node(*site.places[k], site.names[k], ranks, matrix, slots, options.algorithm);
    if (!node) return std::move(node).error();
    placement.nodes.push_back(*std::move(node));
  }
  return placement;
}

// The CPUs of a rank that LAMA has put on a thread.
CpuSet cpus_by_lama(const LamaLayout& layout, const Machine& machine, PuOs thread) {
  CpuSet pus;
  pus.set(thread);
  return layout.has_bind ? lama_binding(machine, layout.bind, thread) : pus;
}

Result<Placement> place_by_lama(const PlaceCommand& options, const Site& site,
                                const CommMatrix& matrix, const std::vector<int>& room) {
  const Traffic traffic(matrix);
  std::vector<const Machine*> machines;
  for (const auto& place : site.places) machines.push_back(&place->machine);
  const auto threads = lama_over_nodes(machines, options.lama, traffic.ranks());
  if (!threads) return threads.error();
  const auto layout = parse_lama(options.lama);
  if (!layout) return layout.error();
  // The user is not to wait for the search to learn that the layout does not fit.
  auto rows = layout_rows(options.adapter, traffic, room, options.algorithm);
  if (!rows) return std::move(rows).error();
  NodeOfRank node_of_rank;
  std::vector<int> counts(machines.size());
  std::vector<NodeMapping> nodes(machines.size());
  for (const NodeThread& thread : *threads) {
    const auto k = static_cast<std::size_t>(thread.node);
    nodes[k].ranks.push_back(static_cast<int>(node_of_rank.size()));
    nodes[k].mapping.slots.push_back(
        make_slot(*machines[k], cpus_by_lama(*layout, *machines[k], thread.pu)));
    node_of_rank.push_back(thread.node);
    ++counts[k];
  }
  for (std::size_t k = 0; k < nodes.size(); ++k)
    nodes[k].layout.names = {nodes[k].ranks, site.names[k]};
  const LayoutCost cost =
      cost_of_layout(make_network(counts, options.adapter), traffic, node_of_rank);
  rows->push_back({"lama", std::move(node_of_rank), cost});
  return Placement{*std::move(rows), std::move(nodes)};
}

Result<Placement> compute_placement(const PlaceCommand& options, const Site& site,
                                    const CommMatrix& matrix) {
  const auto counts = counts_of(site.places, matrix.ranks, std::max(1, options.cpus_per_task));
  if (!counts) return counts.error();
  return options.lama.empty() ? place_by_traffic(options, site, matrix, *counts)
                              : place_by_lama(options, site, matrix, *counts);
}

Result<std::string> run_place(const PlaceCommand& options) {
  if (Status known = check_place_algorithm(options.algorithm); !known)
    return std::move(known).error();
  if (!options.lama.empty())
    if (Status good = check_lama_width(options.cpus_per_task); !good)
      return std::move(good).error();
  const auto site = find_site(options);
  if (!site) return site.error();
  if (Status good = check_place(options, *site); !good) return std::move(good).error();
  const auto matrix = read_step_traffic(options.files, options.window, options.ranks);
  if (!matrix) return matrix.error();
  const auto placement = compute_placement(options, *site, *matrix);
  if (!placement) return placement.error();
  const auto& [rows, nodes] = *placement;
  std::string text =
      options.format == "json" ? to_json_text(rows, nodes, *site) : to_text(rows, nodes, *site);
  if (options.prefix.empty()) return text;
  const auto told = write_files(options, *site, rows.back().layout, nodes);
  if (!told) return told.error();
  return options.format == "json" ? text : text + *told;
}

}  // namespace

void add_place(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("place", "put ranks on nodes, then on their CPUs");
  auto options = std::make_shared<PlaceCommand>();
  command
      ->add_option(
          "FILE", options->files,
          "traffic of all ranks: the profiles or the reports of all nodes, what 'ondeloc profile "
          "merge' makes of them, or a matrix; - reads standard input")
      ->required();
  command->add_option("-N,--nodes", options->nodes, "number of nodes (default: those of --hosts)")
      ->check(CLI::Range(1, static_cast<int>(kMostHosts)));
  command
      ->add_option("-H,--hosts", options->hosts,
                   "names of the nodes, such as node[0-3],node7 (default: those of the job)")
      ->check(not_empty());
  command
      ->add_option("-t,--topology", options->topologies,
                   "topology of the nodes: one for all, or one for each node in order, as for "
                   "'ondeloc map' (default: host)")
      ->allow_extra_args(false)
      ->check(not_empty());
  add_ranks_option(*command, options->ranks);
  add_cpus_option(*command, options->cpus_per_task, kOneCpu);
  command
      ->add_option("-w,--window", options->window,
                   "of a profile only messages from FROM to TO after the first message, such as "
                   "500ms:2s or 10s: (default: all)")
      ->check(not_empty());
  command
      ->add_option(
          "-a,--algorithm", options->algorithm,
          fmt::format("coordinated, which is quick, or coordinated:EFFORT, for both stages "
                      "(default: {}, because a plan is made once for whole runs; "
                      "coordinated from {} ranks on)",
                      kOfflineAlgorithm, kMostOfflineRanks + 1))
      ->check(not_empty());
  add_network_options(*command, options->adapter);
  command
      ->add_option("--lama", options->lama,
                   "place by this layout of LAMA over all nodes, such as scbnh, not by traffic")
      ->type_name("LAYOUT")
      ->check(not_empty());
  command->add_option("-f,--format", options->format, "table or json (default: table)")
      ->check(CLI::IsMember({"table", "json"}));
  command
      ->add_option("-o,--output", options->prefix,
                   "write PREFIX.hosts (SLURM_HOSTFILE) and PREFIX.ranks (a rankfile)")
      ->type_name("PREFIX")
      ->check(not_empty());
  command->footer(examples({"ondeloc place ondeloc-1234.0.*.json --nodes 4",
                            "ondeloc place bytes.mat -N 2 -t node.xml -H node[1-2] -o best",
                            "SLURM_HOSTFILE=best.hosts srun -n8 --distribution=arbitrary "
                            "--ondeloc=static:best.ranks ./app"}));
  command->callback([options, &job] { job = [options] { return run_place(*options); }; });
}

}  // namespace ondeloc::cli
