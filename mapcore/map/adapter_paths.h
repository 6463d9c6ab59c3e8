// SPDX-License-Identifier: Apache-2.0
// The way of a rank's off-node bytes to its network adapter: from the NUMA node where the rank is
// to the nearest NUMA node of the adapter. Adapters whose place is not known have no ways. A
// machine whose adapters are as near to every node as to any other has none either: these bytes
// cost the same under every mapping. Thread safety: a value and pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/topology/machine.h"

namespace ondeloc {

// Bytes per second of an adapter whose speed is not known: 100 Gbit/s.
inline constexpr double kAdapterBandwidth = 12.5e9;

// Adapters that the ranks of a NUMA node are spread evenly over.
struct AdapterPool {
  std::vector<std::size_t> adapters;  // positions in Machine::devices
  std::string name;                   // "mlx5_0+mlx5_1"
  double bandwidth = 0;               // bytes per second of all together
};

struct AdapterPaths {
  int nodes = 0;
  bool by_rank = false;  // a row for each rank, else one row for all
  // Row-major rows x nodes: the NUMA node through which a rank on node k reaches its adapter; k
  // itself if the adapter is near, or if the adapter of the rank is not known. Empty: no ways.
  std::vector<int> home;
  // The pool of a rank on node k. Its load is part of the cost. Empty if the mapping does not
  // choose the adapter: the load is then the same under every mapping, and left out.
  std::vector<int> pool;
  std::vector<AdapterPool> pools;

  bool empty() const { return home.empty(); }
  // True if a rank has bytes and ways.
  bool count(std::span<const double> off_node) const;
  int home_of(int rank, int node) const { return home.empty() ? node : home[at(rank, node)]; }
  int pool_of(int rank, int node) const { return pool.empty() ? -1 : pool[at(rank, node)]; }

 private:
  std::size_t at(int rank, int node) const {
    return static_cast<std::size_t>(by_rank ? rank : 0) * static_cast<std::size_t>(nodes) +
           static_cast<std::size_t>(node);
  }
};

// For ranks that start later: each takes the active adapter of the fastest kind that is nearest to
// its NUMA node, as network libraries and nic=auto do. `penalty`: as in CostModel.
AdapterPaths nearest_adapters(const Machine& machine, std::span<const double> penalty);

// For ranks that run: `adapter_of` has each rank's adapter, a position in machine.devices.
AdapterPaths fixed_adapters(const Machine& machine, std::span<const double> penalty,
                            std::span<const std::optional<std::size_t>> adapter_of);

}  // namespace ondeloc
