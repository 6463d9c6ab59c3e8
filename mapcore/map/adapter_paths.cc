// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/adapter_paths.h"

#include <algorithm>
#include <tuple>

#include "mapcore/devices/rank_adapter.h"

namespace ondeloc {
namespace {

using Adapters = std::vector<std::size_t>;

// The part of `adapters` that is near node k.
Adapters near_node(const Machine& machine, const Adapters& adapters, int k) {
  const NumaNode& node = machine.nodes[NodeIndex(k)];
  Adapters near;
  for (const std::size_t adapter : adapters) {
    const Device& device = machine.devices[adapter];
    const bool is_near =
        device.node >= 0 ? device.node == node.os : device.near.intersects(node.pus);
    if (is_near) near.push_back(adapter);
  }
  return near;
}

// For each node the nearest node that is marked, of equally near ones one of the same package, then
// the first. -1: none is marked.
std::vector<int> nearest_marked(const Machine& machine, std::span<const double> penalty,
                                const std::vector<bool>& marked) {
  const std::size_t n = marked.size();
  std::vector<int> nearest;
  for (std::size_t k = 0; k < n; ++k) {
    std::tuple<double, bool, int> best{0, false, -1};
    for (std::size_t l = 0; l < n; ++l) {
      if (!marked[l]) continue;
      const bool elsewhere = machine.nodes[l].package != machine.nodes[k].package;
      const std::tuple found{k == l ? -1 : penalty[k * n + l], elsewhere, static_cast<int>(l)};
      if (std::get<2>(best) < 0 || found < best) best = found;
    }
    nearest.push_back(std::get<2>(best));
  }
  return nearest;
}

bool has_place(const Device& device) { return device.node >= 0 || !device.near.empty(); }

// Files of hwloc do not tell the state of Slingshot and EFA adapters: such an adapter counts as
// active. An Ethernet adapter of unknown state may be one that nobody uses.
Adapters usual_of(const Machine& machine) {
  std::vector<Device> devices = machine.devices;
  for (Device& device : devices)
    if (device.state == LinkState::kUnknown && device.kind < DeviceKind::kEthernet)
      device.state = LinkState::kActive;
  return usual_adapters(devices);
}

AdapterPool pool_of(const Machine& machine, Adapters adapters) {
  AdapterPool pool;
  bool knows_speed = true;
  for (const std::size_t adapter : adapters) {
    const Device& device = machine.devices[adapter];
    pool.name += (pool.name.empty() ? "" : "+") + device.name;
    pool.bandwidth += device.gigabits * 1e9 / 8;
    knows_speed = knows_speed && device.gigabits > 0;
  }
  if (!knows_speed) pool.bandwidth = kAdapterBandwidth * static_cast<double>(adapters.size());
  pool.adapters = std::move(adapters);
  return pool;
}

int add_pool(const Machine& machine, const Adapters& adapters, std::vector<AdapterPool>& pools) {
  const auto known = std::find_if(pools.begin(), pools.end(), [&](const AdapterPool& pool) {
    return pool.adapters == adapters;
  });
  const auto index = static_cast<int>(known - pools.begin());
  if (known == pools.end()) pools.push_back(pool_of(machine, adapters));
  return index;
}

bool is_near_everywhere(const AdapterPaths& paths) {
  for (std::size_t at = 0; at < paths.home.size(); ++at)
    if (paths.home[at] != static_cast<int>(at) % paths.nodes) return false;
  return true;
}

}  // namespace

bool AdapterPaths::count(std::span<const double> off_node) const {
  return !home.empty() &&
         std::any_of(off_node.begin(), off_node.end(), [](double bytes) { return bytes > 0; });
}

AdapterPaths nearest_adapters(const Machine& machine, std::span<const double> penalty) {
  const Adapters usual = usual_of(machine);
  const bool knows_places = std::all_of(usual.begin(), usual.end(), [&](std::size_t adapter) {
    return has_place(machine.devices[adapter]);
  });
  AdapterPaths paths;
  paths.nodes = static_cast<int>(machine.nodes.size());
  std::vector<Adapters> near;
  std::vector<bool> marked;
  for (int k = 0; k < paths.nodes; ++k) {
    near.push_back(near_node(machine, usual, k));
    marked.push_back(!near.back().empty());
  }
  if (!knows_places || std::none_of(marked.begin(), marked.end(), [](bool has) { return has; }))
    return {};
  paths.home = nearest_marked(machine, penalty, marked);
  for (const int home : paths.home)
    paths.pool.push_back(add_pool(machine, near[static_cast<std::size_t>(home)], paths.pools));
  if (paths.pools.size() > 1) return paths;
  paths.pool.clear();
  return is_near_everywhere(paths) ? AdapterPaths{} : paths;
}

AdapterPaths fixed_adapters(const Machine& machine, std::span<const double> penalty,
                            std::span<const std::optional<std::size_t>> adapter_of) {
  AdapterPaths paths;
  paths.nodes = static_cast<int>(machine.nodes.size());
  paths.by_rank = true;
  for (const auto& adapter : adapter_of) {
    std::vector<bool> marked;
    for (int k = 0; k < paths.nodes; ++k)
      marked.push_back(adapter && !near_node(machine, {*adapter}, k).empty());
    const std::vector<int> nearest = nearest_marked(machine, penalty, marked);
    for (int k = 0; k < paths.nodes; ++k)
      paths.home.push_back(
          nearest[static_cast<std::size_t>(k)] < 0 ? k : nearest[static_cast<std::size_t>(k)]);
  }
  return is_near_everywhere(paths) ? AdapterPaths{} : paths;
}

}  // namespace ondeloc
