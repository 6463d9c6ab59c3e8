// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/layouts.h"

#include <algorithm>
#include <numeric>

#include "mapcore/map/cost.h"

namespace ondeloc {
namespace {

double seconds_of(const Network& network, const Traffic& traffic, const Mapping& mapping) {
  return evaluate(network.model, network.slots, traffic, mapping).total;
}

}  // namespace

Mapping mapping_of(const Network& network, const NodeOfRank& layout) {
  std::vector<int> next(network.machine.nodes.size(), -1);
  for (std::size_t s = network.slots.size(); s-- > 0;)
    next[network.slots[s].node.value] = static_cast<int>(s);
  Mapping mapping;
  for (const int node : layout) mapping.emplace_back(next[node]++);
  return mapping;
}

NodeOfRank layout_of(const Network& network, const Mapping& mapping) {
  NodeOfRank layout;
  for (const SlotIndex slot : mapping) layout.push_back(network.slots[slot].node.value);
  return layout;
}

NodeOfRank block_layout(const std::vector<int>& counts) {
  NodeOfRank layout;
  for (std::size_t k = 0; k < counts.size(); ++k)
    layout.insert(layout.end(), static_cast<std::size_t>(counts[k]), static_cast<int>(k));
  return layout;
}

NodeOfRank plane_layout(const std::vector<int>& counts, int size) {
  NodeOfRank layout;
  std::vector<int> left = counts;
  const int ranks = std::accumulate(counts.begin(), counts.end(), 0);
  while (static_cast<int>(layout.size()) < ranks) {
    for (std::size_t k = 0; k < left.size(); ++k) {
      const int taken = std::min(size, left[k]);
      layout.insert(layout.end(), static_cast<std::size_t>(taken), static_cast<int>(k));
      left[k] -= taken;
    }
  }
  return layout;
}

NodeOfRank cyclic_layout(const std::vector<int>& counts) { return plane_layout(counts, 1); }

double seconds_of_layout(const Network& network, const Traffic& traffic, const NodeOfRank& layout) {
  return seconds_of(network, traffic, mapping_of(network, layout));
}

LayoutCost cost_of_layout(const Network& network, const Traffic& traffic,
                          const NodeOfRank& layout) {
  const Mapping mapping = mapping_of(network, layout);
  const DomainTraffic split = traffic_by_domain(network.slots, traffic, mapping);
  const auto machine = static_cast<std::size_t>(Domain::kMachine);
  LayoutCost cost;
  cost.bytes = split.bytes[machine];
  cost.messages = split.messages[machine];
  if (traffic.total() > 0) cost.share = cost.bytes / traffic.total();
  // The memory of the network's model takes next to no time, but not none.
  if (cost.bytes + cost.messages > 0) cost.seconds = seconds_of(network, traffic, mapping);
  std::vector<double> through(network.machine.nodes.size());
  for (int i = 0; i < traffic.ranks(); ++i)
    for (const Traffic::Edge& edge : traffic.edges(i))
      if (layout[edge.peer] != layout[i]) through[layout[i]] += edge.bytes;
  const auto fullest = std::max_element(through.begin(), through.end());
  cost.most = *fullest;
  if (cost.most > 0) cost.fullest = static_cast<int>(fullest - through.begin());
  return cost;
}

std::vector<std::vector<int>> ranks_by_node(const NodeOfRank& layout, std::size_t nodes) {
  std::vector<std::vector<int>> ranks(nodes);
  for (std::size_t i = 0; i < layout.size(); ++i) ranks[layout[i]].push_back(static_cast<int>(i));
  return ranks;
}

}  // namespace ondeloc
