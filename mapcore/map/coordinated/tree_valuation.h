// SPDX-License-Identifier: Apache-2.0
// The cost of partitions over last-level caches without a TreeState, and a lower bound of the cost
// of all partitions. Costs are in seconds, as those of TreeState. Thread safety: pure functions of
// a scratch that the caller keeps.
#pragma once

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

// The load of each resource, in units of amount; of adapters in bytes.
struct TreeLoads {
  std::vector<double> node, link, port, adapter;

  // Sets all loads to 0. Allocates only for a target with more resources.
  void clear(const TreeTarget& target);
  // Adds `sign` times the off-node bytes of a rank on node `from` to the resources on their way.
  void add_way(const TreeTarget& target, int rank, int from, double sign) {
    if (target.way_cost.empty()) return;
    const auto at = static_cast<std::size_t>(rank) * static_cast<std::size_t>(target.nodes) +
                    static_cast<std::size_t>(from);
    const double bytes = sign * target.off_node[rank];
    if (const int way = target.way_link[at]; way >= 0) link[way] += bytes;
    if (const int pool = target.way_pool[at]; pool >= 0) adapter[pool] += bytes;
  }
  // Returns the time of the fullest resource, in seconds.
  double congestion(const TreeTarget& target) const;
};

// Returns the cost, or a number above `limit` if the cost is above `limit`: most partitions are
// rejected by their locality and the least congestion.
double tree_cost(const TreeTarget& target, const Part& part, double limit, TreeLoads& scratch);

// Returns a lower bound of the cost that evaluate() gives to any mapping, or 0 if both directions
// of a message cost differently. Each rank has as many of its bytes and messages in its own cache
// as the slots there can hold, the next ones in the caches that cost least, and the memories and
// the ports are equally full. If all ranks talk alike to all, the bound is the optimum.
double least_tree_cost(const TreeTarget& target);

// Returns lower bounds of the seconds of each rank's edges, by the same reasoning.
std::vector<double> least_prices(const TreeTarget& target);

}  // namespace ondeloc::coordinated
