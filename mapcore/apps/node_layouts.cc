// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/node_layouts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mapcore/apps/usage.h"
#include "mapcore/apps/workload.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/options/algorithm_table.h"
#include "mapcore/place/placed.h"

namespace ondeloc::cli {
namespace {

// Ranks that a node has room for: on its cores, or on all hardware threads.
int room_of(const MachineChoice& place, int cpus_per_task, bool threads) {
  const int units =
      threads ? place.usable.count() : static_cast<int>(core_sets(place.machine).size());
  return units / cpus_per_task;
}

// A name without an effort means effort 1.
int effort_of(const std::string& algorithm, int ranks) {
  const std::string spec = offline_algorithm(algorithm, ranks);
  const auto effort = parse_unsigned(split_algorithm(spec).argument, kMostEffort);
  return static_cast<int>(effort.value_or(1));
}

// The nodes that have ranks. The search takes time for each pair of nodes.
struct UsedNodes {
  std::vector<int> numbers;  // among all nodes
  std::vector<int> counts;   // of their ranks
};

UsedNodes used_nodes(const std::vector<int>& counts) {
  UsedNodes used;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) continue;
    used.numbers.push_back(static_cast<int>(k));
    used.counts.push_back(counts[k]);
  }
  return used;
}

}  // namespace

Status check_place_algorithm(const std::string& named) {
  if (Status known = check_algorithm(named); !known) return known;
  if (named.empty() || split_algorithm(named).name == "coordinated") return {};
  return Error(fmt::format(
      "'{}' does not place ranks on nodes; use coordinated or coordinated:EFFORT", named));
}

Result<std::vector<int>> counts_of(const Places& places, int ranks, int cpus_per_task) {
  long long all = 0;
  for (const bool threads : {false, true}) {
    std::vector<int> room;
    for (const auto& place : places) room.push_back(room_of(*place, cpus_per_task, threads));
    auto counts = even_counts(room, ranks);
    if (!counts.empty()) return counts;
    all = std::accumulate(room.begin(), room.end(), 0LL);
  }
  return Error(
      fmt::format("{} ranks of {} CPU{} do not fit on {} node{} with room for {}; give "
                  "more --nodes, or --topology for nodes other than this machine",
                  ranks, cpus_per_task, cpus_per_task == 1 ? "" : "s", places.size(),
                  places.size() == 1 ? "" : "s", all));
}

Result<std::vector<LayoutRow>> layout_rows(const Adapter& adapter, const Traffic& traffic,
                                           const std::vector<int>& counts,
                                           const std::string& algorithm) {
  const UsedNodes used = used_nodes(counts);
  const auto left_out = static_cast<int>(counts.size() - used.counts.size());
  const Network network = make_network(used.counts, adapter, left_out);
  auto placed = placed_layout(network, traffic, effort_of(algorithm, traffic.ranks()));
  if (!placed) return std::move(placed).error();
  // Half a node: the usual choice for nodes of two sockets.
  const int plane = std::max(2, *std::max_element(counts.begin(), counts.end()) / 2);
  std::vector<LayoutRow> rows;
  const auto add = [&](const std::string& name, NodeOfRank layout) {
    LayoutCost cost = cost_of_layout(network, traffic, layout);
    if (cost.fullest) cost.fullest = used.numbers[*cost.fullest];
    for (int& node : layout) node = used.numbers[node];
    rows.push_back({name, std::move(layout), cost});
  };
  add("block", block_layout(used.counts));
  add("cyclic", cyclic_layout(used.counts));
  add(fmt::format("plane={}", plane), plane_layout(used.counts, plane));
  add("placed", *std::move(placed));
  return rows;
}

std::vector<std::string> numbered_nodes(std::size_t nodes) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < nodes; ++k) names.push_back(fmt::format("node {}", k));
  return names;
}

std::string layout_head() {
  return fmt::format("{:<10} {:>10} {:>6} {:>10} {:>14} {:>10}", "ranks", "off-node", "share",
                     "messages", "most by one", "cost");
}

std::string layout_cells(const LayoutRow& row) {
  return fmt::format("{:<10} {:>10} {:>6} {:>10.4g} {:>14} {:>10}", row.name,
                     bytes_text(row.cost.bytes), share_text(row.cost.share), row.cost.messages,
                     bytes_text(row.cost.most), seconds_text(row.cost.seconds));
}

nlohmann::ordered_json layout_json(const LayoutRow& row, std::span<const std::string> names) {
  nlohmann::ordered_json json = {{"name", row.name},
                                 {"off_node_bytes", row.cost.bytes},
                                 {"off_node_messages", row.cost.messages},
                                 {"off_node_share", nullptr},
                                 {"fullest_adapter_bytes", row.cost.most},
                                 {"fullest_adapter_node", nullptr},
                                 {"cost", row.cost.seconds}};
  if (row.cost.share) json["off_node_share"] = *row.cost.share;
  if (row.cost.fullest)
    json["fullest_adapter_node"] = names[static_cast<std::size_t>(*row.cost.fullest)];
  return json;
}

Result<NodeMapping> map_node(const MachineChoice& place, const std::string& name,
                             const std::vector<int>& ranks, const CommMatrix& matrix,
                             const SlotOptions& slots, const std::string& algorithm) {
  const CommMatrix own = matrix.among(ranks);
  auto layout = plan_layout(place, {}, slots, own, "");
  if (!layout) return std::move(layout).error().within(name);
  layout->names = {ranks, name};
  layout->off_node = matrix.sent_beyond(ranks);
  auto mapping = run_algorithm(offline_algorithm(algorithm, layout->ranks), *layout, Traffic(own));
  if (!mapping) return std::move(mapping).error().within(name);
  return NodeMapping{ranks, *std::move(layout), *std::move(mapping)};
}

std::array<CLI::Option*, 2> add_network_options(CLI::App& command, Adapter& adapter) {
  return {add_quantity(command, "--adapter-bandwidth", adapter.bandwidth, Quantity::kBytesPerSecond,
                       1, 1e18,
                       "of a node's network adapter; the bytes of both directions count against it "
                       "(default: 12.5GB/s)"),
          add_quantity(command, "--network-latency", adapter.latency, Quantity::kSeconds, 0, 1,
                       "of a message between nodes, over one inside (default: 1.5us)")};
}

}  // namespace ondeloc::cli
