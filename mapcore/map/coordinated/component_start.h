// SPDX-License-Identifier: Apache-2.0
// A start for programs whose ranks fall into groups that hardly talk to each other, such as the
// copies of an ensemble: no single move or swap takes a group to another place. Thread safety: pure
// functions.
#pragma once

#include <span>
#include <vector>

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// The places for groups: caches, or nodes that count as one cache each.
struct GroupPlaces {
  std::span<const int> capacity;     // slots of each place
  std::span<const int> node_of;      // of each place
  std::span<const double> per_node;  // load of a node for one byte
};

// Returns the place of each vertex; an empty part if there are no groups. A group is a connected
// component of the edges that are heavy for both of their ranks, and fits into a node. Groups come
// first, in descending order of their bytes, each to the node with the least load that has room in
// one place, else room at all (longest processing time first: R. L. Graham, SIAM J. Appl. Math.
// 17(2), 1969); there to the fullest place with room (best fit: D. S. Johnson et al., SIAM J.
// Comput. 3(4), 1974). Other vertices follow in the same way, one by one. `rows`: of all edges of
// the graph. REQUIRES: each vertex is one rank; there are as many slots as ranks.
Part component_start(const Graph& graph, std::span<const Row> rows, const GroupPlaces& places);

}  // namespace ondeloc::coordinated
