// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/compare_nodes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "mapcore/apps/node_layouts.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"

namespace ondeloc::cli {
namespace {

// Predicted seconds of the traffic inside the slowest node.
struct Inside {
  double packed = 0, mapped = 0;
};

Result<Inside> cost_inside(const NodesComparison& wanted, const MachineChoice& machine,
                           const CommMatrix& matrix, const NodeOfRank& layout) {
  Inside most;
  const auto nodes = static_cast<std::size_t>(wanted.nodes);
  for (const std::vector<int>& ranks : ranks_by_node(layout, nodes)) {
    if (ranks.empty()) continue;
    for (const auto& [algorithm, sum] : {std::pair("packed", &most.packed), {"", &most.mapped}}) {
      const auto node = map_node(machine, "a node", ranks, matrix, wanted.slots, algorithm);
      if (!node) return node.error();
      *sum = std::max(*sum, node->mapping.cost.total);
    }
  }
  return most;
}

std::string to_text(const std::vector<LayoutRow>& rows, const std::vector<Inside>& inside) {
  std::string text = fmt::format("{} {:>10} {:>10}\n", layout_head(), "packed", "mapped");
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{} {:>10} {:>10}\n", layout_cells(rows[i]), seconds_text(inside[i].packed),
                        seconds_text(inside[i].mapped));
  return text + kLayoutLegend +
         "packed, mapped: predicted cost inside the slowest node, in Slurm's order and as\n"
         "'ondeloc map' maps it\n";
}

std::string to_json_text(const std::vector<LayoutRow>& rows, const std::vector<Inside>& inside,
                         const std::vector<std::string>& names) {
  nlohmann::ordered_json out = nlohmann::json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = layout_json(rows[i], names);
    row["packed_cost"] = inside[i].packed;
    row["mapped_cost"] = inside[i].mapped;
    out.push_back(std::move(row));
  }
  return json_text(out);
}

}  // namespace

Result<std::string> compare_nodes(const NodesComparison& wanted, const MachineChoice& machine,
                                  const CommMatrix& matrix) {
  // The ranks of the step are dealt to the nodes; those of a node follow from that.
  NodesComparison of_node = wanted;
  of_node.slots.ranks = 0;
  const Places places(static_cast<std::size_t>(wanted.nodes),
                      std::make_shared<const MachineChoice>(machine));
  const auto counts = counts_of(places, matrix.ranks, std::max(1, wanted.slots.cpus_per_task));
  if (!counts) return counts.error();
  const auto rows = layout_rows(wanted.adapter, Traffic(matrix), *counts, "");
  if (!rows) return rows.error();
  std::vector<Inside> inside;
  for (const LayoutRow& row : *rows) {
    const auto cost = cost_inside(of_node, machine, matrix, row.layout);
    if (!cost) return cost.error();
    inside.push_back(*cost);
  }
  return wanted.json ? to_json_text(*rows, inside, numbered_nodes(places.size()))
                     : to_text(*rows, inside);
}

}  // namespace ondeloc::cli
