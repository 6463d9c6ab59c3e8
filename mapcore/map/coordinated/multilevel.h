// SPDX-License-Identifier: Apache-2.0
// Coarser graphs: pairs of vertices that exchange most are merged, level by level, a large problem
// is solved on the coarsest graph and refined on the way back (B. Hendrickson and R. Leland, "A
// multilevel algorithm for partitioning graphs", SC 1995; heavy-edge matching: G. Karypis and
// V. Kumar, SIAM J. Sci. Comput. 20(1), 1998). Vertices are matched in the order of their numbers,
// ties go to the lowest number: regular programs give regular groups.
#pragma once

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
  Graph view() const { return {static_cast<int>(size.size()), begin, edges, strength, size}; }
};

struct MatchLimits {
  int size = 0;         // ranks in a group at most
  double strength = 0;  // bytes of a group at most
};

CoarseGraph coarsen(const Graph& graph, const MatchLimits& limits);

// All levels below `graph` until at most `enough` vertices are left or matching finds no more.
std::deque<CoarseGraph> coarsen_all(const Graph& graph, const Target& target, int enough);

// Puts the vertices, heaviest groups first, where they exchange most with what is there already
// among the nodes that have room and are not above their share of load. Empty where sizes do not
// fit.
Part grow_start(const Graph& graph, const Target& target);

Part project(const CoarseGraph& coarse, std::span<const int> coarse_part);

}  // namespace ondeloc::coordinated
