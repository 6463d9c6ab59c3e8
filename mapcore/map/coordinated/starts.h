// SPDX-License-Identifier: Apache-2.0
// Node-level forms of the simple algorithms, from which `coordinated` starts. Each form gives every
// rank the same NUMA node as the algorithm of that name (a test compares them), but no slot. Thread
// safety: pure functions.
#pragma once

#include <vector>

#include "mapcore/map/coordinated/graph.h"

namespace ondeloc::coordinated {

using Part = std::vector<int>;  // part[vertex] = node

Part packed_start(const Graph& graph, const Target& target);
Part scatter_start(const Graph& graph, const Target& target);
Part random_start(const Graph& graph, const Target& target);  // seed 1
// Takes ranks in descending order of traffic and gives each rank to the node with the least load
// per bandwidth that has room: longest processing time first (R. L. Graham, SIAM J. Appl. Math.
// 17(2), 1969).
Part balance_start(const Graph& graph, const Target& target);
// Algorithm 1 of Agung et al. 2020 (mapcore/map/ondeloc.cc): takes pairs in descending order of
// traffic, and ranks without traffic last. The reading says where a pair goes if neither of its
// ranks is placed yet:
enum class PairReading {
  kAuthors,   // the first rank goes to its own previous node, its partner joins it
  kTogether,  // both stay if they were on one node; else both go to the next node round-robin
  kLiteral,   // each rank goes to its own previous node
};
// `previous` may be empty.
Part ondeloc_start(std::span<const Row> rows, const Target& target, std::span<const int> previous,
                   PairReading reading = PairReading::kAuthors);

}  // namespace ondeloc::coordinated
