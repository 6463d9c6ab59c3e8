// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/network.h"

#include <algorithm>
#include <numeric>

namespace ondeloc {
namespace {

// Bytes per second at which a resource is never the fullest, and still far from the largest double.
constexpr double kUnlimited = 1e18;

Machine machine_of(int nodes) {
  Machine machine;
  machine.source = "network";
  for (int k = 0; k < nodes; ++k) {
    Pu pu{PuOs(k), PuLogical(k), NodeIndex(k), {}, LlcIndex(k)};
    pu.ancestor.fill(k);
    pu.ancestor[static_cast<std::size_t>(Level::kMachine)] = 0;
    machine.pus.push_back(pu);
    CpuSet pus;
    pus.set(PuOs(k));
    machine.allowed.set(PuOs(k));
    NumaNode node;
    node.os = k;
    node.pus = pus;
    node.package = k;
    machine.nodes.push_back(node);
    machine.llcs.push_back({Level::kL3, k, NodeIndex(k), pus, 0});
  }
  return machine;
}

// Per rank, as CostModel shares its costs: see network.h for the sums that result.
CostModel model_of(int nodes, double ranks_per_node, const Adapter& adapter) {
  const auto n = static_cast<std::size_t>(nodes);
  CostModel model;
  model.weight = Weight::kTime;
  model.nodes = model.llcs = nodes;
  model.bandwidth.assign(n, kUnlimited);
  model.link.assign(n * n, kUnlimited);
  model.penalty.assign(n * n, 1);
  model.link_of.assign(n * n, -1);
  model.port.assign(n, adapter.bandwidth);
  model.message_cost.assign(n * n, adapter.latency);
  model.byte_cost.assign(n * n, ranks_per_node / adapter.bandwidth);
  model.byte_cost_is_shared = true;
  model.latency[static_cast<std::size_t>(Domain::kMachine)] = adapter.latency;
  for (std::size_t k = 0; k < n; ++k) {
    model.node_of_llc.push_back(static_cast<int>(k));
    model.penalty[k * n + k] = model.message_cost[k * n + k] = model.byte_cost[k * n + k] = 0;
    for (std::size_t l = k + 1; l < n; ++l) {
      model.link_of[k * n + l] = model.link_of[l * n + k] =
          static_cast<int>(model.link_capacity.size());
      model.link_capacity.push_back(kUnlimited);
    }
  }
  return model;
}

}  // namespace

Network make_network(const std::vector<int>& capacity, const Adapter& adapter, int left_out) {
  const auto nodes = static_cast<int>(capacity.size());
  const double ranks = std::accumulate(capacity.begin(), capacity.end(), 0.0);
  Network network{
      machine_of(nodes), {}, model_of(nodes, ranks / std::max(1, nodes + left_out), adapter)};
  for (int k = 0; k < nodes; ++k) {
    const NodeIndex node(k);
    const Slot slot{network.machine.nodes[node].pus, node, Seat{-1, -1, LlcIndex(k), node, k}};
    network.slots.insert(network.slots.end(), static_cast<std::size_t>(capacity[k]), slot);
  }
  return network;
}

std::vector<int> even_counts(const std::vector<int>& room, int ranks) {
  std::vector<int> counts(room.size());
  if (std::accumulate(room.begin(), room.end(), 0LL) < ranks) return {};
  for (int left = ranks; left > 0;) {
    for (std::size_t k = 0; k < room.size() && left > 0; ++k)
      if (counts[k] < room[k]) ++counts[k], --left;
  }
  return counts;
}

}  // namespace ondeloc
