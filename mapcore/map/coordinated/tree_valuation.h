// SPDX-License-Identifier: Apache-2.0
// The cost of partitions over last-level caches without a TreeState, and a lower bound of the cost
// of all partitions. Costs are in seconds, as those of TreeState. Thread safety: pure functions of
// a scratch that the caller keeps.
#pragma once

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

struct TreeScratch {
  std::vector<double> node, link, port, adapter;
};

// Returns the cost, or a number above `limit` if the cost is above `limit`: most partitions are
// rejected by their locality and the least congestion.
double tree_cost(const TreeTarget& target, const Part& part, double limit, TreeScratch& scratch);

// Returns a lower bound of the cost of all partitions, or 0 if partitions do not have the cost of
// evaluate() (TreeTarget::is_exact). Each rank has as many of its bytes and messages in its own
// cache as the slots there can hold, the next ones in the caches that cost least, and the memories
// and the ports are equally full. If all ranks talk alike to all, the bound is the optimum.
double least_tree_cost(const TreeTarget& target);

// Returns lower bounds of the seconds of each rank's edges, by the same reasoning.
std::vector<double> least_prices(const TreeTarget& target);

// Returns the time of the fullest resource: the largest of loads[k] * per[k].
double fullest(const std::vector<double>& loads, const std::vector<double>& per);

}  // namespace ondeloc::coordinated
