// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/cost.h"

#include <algorithm>

namespace ondeloc {
namespace {

constexpr double kDefaultBandwidth = 20e9;
constexpr double kLocalDistance = 10;
constexpr double kRemoteDistance = 21;

bool has_bandwidths(const Machine& machine) {
  return std::all_of(machine.nodes.begin(), machine.nodes.end(),
                     [](const NumaNode& node) { return node.bandwidth > 0; });
}

// A number for each pair of nodes.
bool is_complete(const std::vector<double>& square) {
  return !square.empty() &&
         std::all_of(square.begin(), square.end(), [](double value) { return value > 0; });
}

// d_kl / d_local, row-major; d_local is that of node k.
std::vector<double> distance_ratios(const Machine& machine, const CostOverrides& overrides) {
  const std::size_t n = machine.nodes.size();
  const bool from_hwloc = !overrides.remote_distance && is_complete(machine.distances);
  std::vector<double> ratios(n * n,
                             overrides.remote_distance.value_or(kRemoteDistance) / kLocalDistance);
  for (std::size_t k = 0; k < n; ++k) {
    ratios[k * n + k] = 1;
    if (!from_hwloc) continue;
    for (std::size_t l = 0; l < n; ++l) {
      ratios[k * n + l] =
          std::max(1.0, machine.distances[k * n + l] / machine.distances[k * n + k]);
    }
  }
  return ratios;
}

}  // namespace

CostModel CostModel::from(const Machine& machine, const CostOverrides& overrides) {
  const std::size_t n = machine.nodes.size();
  const bool from_hwloc = has_bandwidths(machine) && !overrides.bandwidth;
  const bool links_from_hwloc = from_hwloc && is_complete(machine.link_bandwidth);
  const std::vector<double> ratios = distance_ratios(machine, overrides);
  CostModel model;
  model.nodes = static_cast<int>(n);
  model.bandwidth_source = overrides.bandwidth ? "option" : from_hwloc ? "hwloc" : "default";
  model.link_source = overrides.link_bandwidth ? "option"
                      : links_from_hwloc       ? "hwloc"
                                               : "bandwidth of the node / relative distance";
  model.distance_source = overrides.remote_distance        ? "option"
                          : is_complete(machine.distances) ? "hwloc"
                                                           : "default";
  model.link.assign(n * n, 0);
  model.penalty.assign(n * n, 0);
  for (const NumaNode& node : machine.nodes) {
    model.bandwidth.push_back(from_hwloc ? node.bandwidth
                                         : overrides.bandwidth.value_or(kDefaultBandwidth));
  }
  auto one_way = [&](std::size_t k, std::size_t l) {
    if (overrides.link_bandwidth) return *overrides.link_bandwidth;
    if (links_from_hwloc) return machine.link_bandwidth[k * n + l];
    return model.bandwidth[l] / ratios[k * n + l];
  };
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = 0; l < n; ++l) {
      model.link[k * n + l] = std::min(one_way(k, l), one_way(l, k));
      if (k != l) model.penalty[k * n + l] = std::max(ratios[k * n + l], ratios[l * n + k]) - 1;
    }
  }
  return model;
}

Loads add_up_loads(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
                   const Mapping& mapping, std::span<const double> off_node) {
  const auto n = static_cast<std::size_t>(model.nodes);
  auto node_of = [&](int rank) {
    return static_cast<std::size_t>(
        slots[static_cast<std::size_t>(mapping[static_cast<std::size_t>(rank)].value)].node.value);
  };
  Loads loads{std::vector<double>(n), std::vector<double>(n * n)};
  for (int i = 0; i < traffic.ranks(); ++i) {
    const std::size_t k = node_of(i);
    loads.node[k] += traffic.strength(i);
    if (static_cast<std::size_t>(i) < off_node.size())
      loads.node[k] += off_node[static_cast<std::size_t>(i)];
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      if (edge.peer <= i) continue;
      const std::size_t l = node_of(edge.peer);
      if (l != k) loads.link[std::min(k, l) * n + std::max(k, l)] += edge.bytes;
    }
  }
  return loads;
}

Cost evaluate(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
              const Mapping& mapping, std::span<const double> off_node) {
  const auto n = static_cast<std::size_t>(model.nodes);
  const Loads loads = add_up_loads(model, slots, traffic, mapping, off_node);
  Cost cost;
  double sum = 0, most = 0, bandwidth = 0, remote = 0, weighted = 0;
  for (std::size_t k = 0; k < n; ++k) {
    sum += loads.node[k];
    most = std::max(most, loads.node[k]);
    bandwidth += model.bandwidth[k];
    cost.congestion = std::max(cost.congestion, loads.node[k] / model.bandwidth[k]);
    for (std::size_t l = k + 1; l < n; ++l) {
      const double bytes = loads.link[k * n + l];
      remote += bytes;
      weighted += bytes * model.penalty[k * n + l];
      cost.congestion = std::max(cost.congestion, bytes / model.link[k * n + l]);
    }
  }
  cost.locality = weighted / bandwidth;
  cost.total = cost.congestion + cost.locality;
  if (traffic.total() > 0) cost.remote_share = remote / traffic.total();
  cost.peak_load = sum > 0 ? most / (sum / static_cast<double>(n)) : 0;
  return cost;
}

}  // namespace ondeloc
