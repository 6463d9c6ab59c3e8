// SPDX-License-Identifier: Apache-2.0
// Fresh partitions of ranks over all last-level caches of a tree, each by the flat solver
// (solver.h): over the nodes, the packages or halves of the machine first, then over the caches
// inside. Thread safety: as of the TreeProblem, which the caller owns.
#pragma once

#include "mapcore/map/coordinated/search.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

constexpr int kRough = -1;  // effort of a solution to compare with

// The request in each form that a search on the tree needs. The request outlives it. Not copyable:
// `ranks` holds views of its own arrays.
struct TreeProblem {
  explicit TreeProblem(const MapRequest& asked);
  TreeProblem(const TreeProblem&) = delete;
  TreeProblem& operator=(const TreeProblem&) = delete;

  const MapRequest& request;
  RankGraph ranks;
  Target over_nodes;  // the target of the partition over the nodes
  Levels levels;      // of the ranks, for that target; the caller makes them (levels_of())
  TreeTarget tree;
  Part previous;  // the cache of each rank under the present mapping; empty: none

  // True if the ranks have few partners in the mean.
  bool is_sparse() const;
};

// The last-level cache of each rank under a mapping; empty for an empty mapping.
Part llcs_of(const MapRequest& request, const Mapping& mapping);
// The node of each rank under a partition over the caches.
Part nodes_of(const TreeTarget& tree, const Part& llcs);

// Partitions the ranks over the nodes. REQUIRES: problem.levels.
Part divide_over_nodes(TreeProblem& problem, int effort);
// Partitions the ranks of each node over the caches of the node.
Part divide_nodes(const TreeProblem& problem, const Part& over_nodes, int effort = 0);
// Partitions the ranks over the packages, if packages_of() finds any, or else over the nodes, and
// then over the caches inside. REQUIRES: problem.levels.
Part divide_afresh(TreeProblem& problem);
// Partitions the ranks over two halves of the caches, then over the halves of each half, and so on.
// Parts of a grid are stripes then, in which all ranks have as many partners outside; a partition
// over all caches at once has corners. Returns an empty partition for two caches: their halves are
// the partition over all.
Part divide_by_halves(const TreeProblem& problem);

}  // namespace ondeloc::coordinated
