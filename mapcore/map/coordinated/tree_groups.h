// SPDX-License-Identifier: Apache-2.0
// Partitions of ranks over groups of last-level caches by the flat solver: the caches of a node or
// of a package, each a group of its own, or the packages. Thread safety: pure functions.
#pragma once

#include <vector>

#include "mapcore/map/coordinated/search.h"
#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

using CacheGroups = std::vector<std::vector<int>>;  // caches, in ascending order

CacheGroups each_alone(const std::vector<int>& llcs);

// All caches of each node, those without slots too.
CacheGroups caches_by_node(const TreeTarget& tree);

// The caches with slots of each package. Empty if there is one package, if some package has one
// node or some node one cache, or if a byte between two nodes of a package costs far more than one
// between caches of a node: then the nodes are the better groups.
CacheGroups packages_of(const TreeTarget& tree, const CostModel& model);

// Returns the target of a partition over the groups. Bytes between groups cost time, and load the
// ports if each group is one cache. The loads inside the groups matter little, but even loads are
// better. REQUIRES: at least one group.
Target target_over(const CacheGroups& groups, const TreeTarget& tree, const CostModel& model,
                   const RankGraph& ranks);

}  // namespace ondeloc::coordinated
