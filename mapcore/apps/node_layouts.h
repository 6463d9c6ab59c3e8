// SPDX-License-Identifier: Apache-2.0
// Distributions of ranks over equal or different nodes, with the mapping inside each node:
// `ondeloc place` and `ondeloc compare --nodes`. Errors: one sentence. Thread safety: pure
// functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/place/layouts.h"

namespace ondeloc::cli {

using Places = std::vector<std::shared_ptr<const MachineChoice>>;  // of each node

// The ranks of each node: as many on each while there is room, on cores, else on hardware threads.
Result<std::vector<int>> counts_of(const Places& places, int ranks, int cpus_per_task);

struct LayoutRow {
  std::string name;
  NodeOfRank layout;
  LayoutCost cost;
};
// block, cyclic, plane of half a node, and the one that placed_layout() finds, which is the last.
// `counts`: the ranks of each node; nodes without ranks take no time. `algorithm`:
// coordinated[:EFFORT] (check_place_algorithm()); empty for offline_algorithm().
Result<std::vector<LayoutRow>> layout_rows(const Adapter& adapter, const Traffic& traffic,
                                           const std::vector<int>& counts,
                                           const std::string& algorithm);
// Error: another algorithm than coordinated, which alone knows networks, or a bad effort.
Status check_place_algorithm(const std::string& named);

// "node 0", "node 1" and so on: nodes whose names are not known.
std::vector<std::string> numbered_nodes(std::size_t nodes);

// The columns that all tables of rows begin with, and the keys of their JSON.
std::string layout_head();
std::string layout_cells(const LayoutRow& row);
inline constexpr const char* kLayoutLegend =
    "off-node, share, messages: between nodes; most by one: bytes through the fullest\n"
    "adapter; cost: predicted time of the messages between nodes\n";
// `names`: of the nodes.
nlohmann::ordered_json layout_json(const LayoutRow& row, std::span<const std::string> names);

// The ranks that a distribution puts on a node, and their mapping inside it.
struct NodeMapping {
  std::vector<int> ranks;
  Layout layout;
  TimedMapping mapping;
};
// `algorithm`: empty for that of `ondeloc map`. `name`: of the node.
Result<NodeMapping> map_node(const MachineChoice& place, const std::string& name,
                             const std::vector<int>& ranks, const CommMatrix& matrix,
                             const SlotOptions& slots, const std::string& algorithm);

// --adapter-bandwidth and --network-latency.
std::array<CLI::Option*, 2> add_network_options(CLI::App& command, Adapter& adapter);

}  // namespace ondeloc::cli
