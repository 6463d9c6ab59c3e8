// SPDX-License-Identifier: Apache-2.0
// What a partition costs, without the tables of a State, and what any partition costs at least.
// Thread safety: pure functions but for the scratch space, which belongs to one thread.
#pragma once

#include <array>

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

struct Scratch {
  std::vector<double> load, link;
};

// Where the cost is above `limit` it may be too low, but not below the limit: every term only grows
// while bytes are added up. REQUIRES: rows sorted by peer, as Traffic has them.
Value value_of(const Graph& graph, const Target& target, std::span<const int> part,
               Scratch& scratch, double limit = std::numeric_limits<double>::infinity());

// A bound from two facts: some node has the mean load or more; and a rank shares its node with no
// more others than there are slots left, so of its bytes at least what it exchanges with all but
// those crosses. Tight where all pairs exchange the same. `rows`: of the graph.
double least_cost(std::span<const Row> rows, const Target& target);

// What each of four partitions costs at least, all in one pass over the edges: the mean load and
// the bytes between nodes at the least penalty. REQUIRES: rows sorted by peer.
inline constexpr std::size_t kAtOnce = 4;
std::array<double, kAtOnce> least_costs(const Graph& graph, const Target& target,
                                        const std::array<Part, kAtOnce>& parts);

}  // namespace ondeloc::coordinated
