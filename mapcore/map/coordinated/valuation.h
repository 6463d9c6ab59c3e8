// SPDX-License-Identifier: Apache-2.0
// Costs of partitions, computed without the tables of a State, and lower bounds of costs. Thread
// safety: pure functions except for the scratch space, which belongs to one thread.
#pragma once

#include <array>

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

struct Scratch {
  std::vector<double> load, link;
};

// Returns the value of the partition. A cost above `limit` may be too low, but this cost is not
// below the limit: every term only grows while bytes are added up. REQUIRES: rows are sorted by
// peer, as in Traffic.
Value value_of(const Graph& graph, const Target& target, std::span<const int> part,
               Scratch& scratch, double limit = std::numeric_limits<double>::infinity());

// Returns a lower bound of the cost of all partitions, from two facts. First, some node has at
// least the mean load. Second, a rank shares its node with fewer ranks than the largest node has
// slots. All bytes of the rank cross, except at most the bytes of that many edges as heavy as its
// heaviest edge. The bound is tight if all pairs exchange the same. `rows`: of the graph.
double least_cost(std::span<const Row> rows, const Target& target);

// Returns lower bounds of the costs of four partitions, from one pass over the edges: the mean load
// plus the bytes between nodes at the least penalty. REQUIRES: rows are sorted by peer.
inline constexpr std::size_t kAtOnce = 4;
std::array<double, kAtOnce> least_costs(const Graph& graph, const Target& target,
                                        const std::array<Part, kAtOnce>& parts);

}  // namespace ondeloc::coordinated
