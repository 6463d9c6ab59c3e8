// SPDX-License-Identifier: Apache-2.0
// Node-level forms of the simple algorithms: where `coordinated` starts from. Each gives the same
// NUMA node to every rank as the algorithm of that name (a test compares them), without the slots.
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "mapcore/map/coordinated/graph.h"

namespace ondeloc::coordinated {

using Part = std::vector<int>;  // part[vertex] = node

Part packed_start(const Graph& graph, const Target& target);
Part scatter_start(const Graph& graph, const Target& target);
Part random_start(const Graph& graph, const Target& target);  // seed 1
// Most talkative first, each to the node with the least load per bandwidth that has room: longest
// processing time first (R. L. Graham, SIAM J. Appl. Math. 17(2), 1969).
Part balance_start(const Graph& graph, const Target& target);
// Algorithm 1 of Agung et al. 2020 as in mapcore/map/ondeloc.cc. `previous` may be empty.
Part ondeloc_start(std::span<const Row> rows, const Target& target, std::span<const int> previous);

}  // namespace ondeloc::coordinated
