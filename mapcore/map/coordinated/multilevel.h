// SPDX-License-Identifier: Apache-2.0
// Coarser graphs: pairs of vertices that exchange most are merged, level by level, a large problem
// is solved on the coarsest graph and refined on the way back (B. Hendrickson and R. Leland, "A
// multilevel algorithm for partitioning graphs", SC 1995; heavy-edge matching: G. Karypis and
// V. Kumar, SIAM J. Sci. Comput. 20(1), 1998). Vertices are matched in the order of their numbers,
// ties go to the lowest number: regular programs give regular groups. A search that goes on takes
// them in other orders.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// A graph that owns its arrays, and where each vertex of the finer graph went.
struct CoarseGraph {
  std::vector<std::size_t> begin;
  std::vector<Traffic::Edge> edges;
  std::vector<double> strength;
  std::vector<int> size;
  std::vector<int> group_of;
  double heavy = 0;
  Graph view() const {
    return {static_cast<int>(size.size()), begin, edges, strength, size, heavy};
  }
};

struct MatchLimits {
  int size = 0;         // ranks in a group at most
  double strength = 0;  // bytes of a group at most
};

// With a part, only vertices of one node are merged. `shuffle`: 0 in the order of numbers, else a
// seed for another order, which gives other groups.
CoarseGraph coarsen(const Graph& graph, const MatchLimits& limits, std::span<const int> part,
                    std::uint64_t shuffle = 0);

// Graphs coarser and coarser than the first.
using Levels = std::deque<CoarseGraph>;

// All levels below `graph` until at most `enough` vertices are left or matching finds no more.
Levels coarsen_all(const Graph& graph, const Target& target, int enough, Part part = {},
                   std::uint64_t shuffle = 0);

// The part of the groups, where all vertices of a group are in one node.
Part part_of_groups(const CoarseGraph& coarse, std::span<const int> part);

// What fills a node evenly while a partition is grown.
enum class GrowBy { kBytes, kRanks };

// Greedy growth: one node after another takes the vertex that exchanges most with what it has,
// until it has its share or is full (B. Hendrickson and R. Leland, SC 1995). Empty where sizes do
// not fit.
Part grow_start(const Graph& graph, const Target& target, GrowBy by);

// Groups merged pairwise until there is one for each node: the blocks of regular programs. Empty
// where that does not come out even.
Part block_start(const Graph& graph, const Target& target);

Part project(const CoarseGraph& coarse, std::span<const int> coarse_part);

}  // namespace ondeloc::coordinated
