// SPDX-License-Identifier: Apache-2.0
// Coarser graphs for large problems. Pairs of vertices that exchange most are merged, level by
// level. The problem is solved on the coarsest graph, and the solution is refined on the way back
// (B. Hendrickson and R. Leland, "A multilevel algorithm for partitioning graphs", SC 1995;
// heavy-edge matching: G. Karypis and V. Kumar, SIAM J. Sci. Comput. 20(1), 1998). Vertices are
// matched in the order of their numbers, and ties go to the lowest number: regular programs give
// regular groups. A search of several rounds matches vertices in other orders too.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// A graph that owns its arrays. group_of[i] is the group that vertex i of the finer graph belongs
// to.
struct CoarseGraph {
  std::vector<std::size_t> begin;
  std::vector<Traffic::Edge> edges;
  std::vector<double> strength;
  std::vector<int> size;
  std::vector<int> group_of;
  double heavy = 0;
  bool is_thinned = false;
  Graph view() const {
    return {static_cast<int>(size.size()), begin, edges, strength, size, heavy, is_thinned};
  }
};

struct MatchLimits {
  int size = 0;         // most ranks in a group
  double strength = 0;  // most bytes of a group
};

// Merges pairs of vertices. In a thinned graph vertices without edges are merged with each other,
// so that there are groups of other vertices that a heavy group can change places with. With a
// part, only vertices of one node are merged. `shuffle`: 0 matches vertices in the order of their
// numbers; another value is a seed for another order, which gives other groups.
CoarseGraph coarsen(const Graph& graph, const MatchLimits& limits, std::span<const int> part,
                    std::uint64_t shuffle = 0);

// Coarser and coarser graphs; the coarsest is the last.
using Levels = std::deque<CoarseGraph>;

// Coarsens `graph` level by level until at most `enough` vertices are left or until a level would
// remove less than a tenth of the vertices.
Levels coarsen_all(const Graph& graph, const Target& target, int enough, Part part = {},
                   std::uint64_t shuffle = 0);

// Returns the node of each group. REQUIRES: all vertices of a group are in one node.
Part part_of_groups(const CoarseGraph& coarse, std::span<const int> part);

// The quantity of which every node gets an even share while a partition is grown.
enum class GrowBy { kBytes, kRanks };

// Grows a partition greedily (B. Hendrickson and R. Leland, SC 1995). One node after another takes
// the free vertex that exchanges most with the node's vertices, until the node has its share or is
// full. Returns an empty part if the sizes do not fit.
Part grow_start(const Graph& graph, const Target& target, GrowBy by);

// Merges groups pairwise until there are no more groups than nodes: in regular programs these
// groups are the blocks. Returns an empty part if merging stops earlier.
Part block_start(const Graph& graph, const Target& target);

Part project(const CoarseGraph& coarse, std::span<const int> coarse_part);

}  // namespace ondeloc::coordinated
