// SPDX-License-Identifier: Apache-2.0
// Assigns ranks to the NUMA nodes that the algorithm `locality` gives them: the search minimises
// traffic times distance in the topology tree. Thread safety: pure function.
#pragma once

#include "mapcore/map/coordinated/search.h"

namespace ondeloc::coordinated {

struct Start {
  Part part;
  double remote = 0;  // lower bound of the bytes between nodes
};

// Returns the distances between NUMA nodes in the tree, row-major nodes x nodes: 1 in one package,
// 2 on one board, 3 across boards.
std::vector<double> tree_distances(const Machine& machine);

// `distances`: row-major parts x parts.
Start locality_start(const std::vector<double>& distances, RankGraph& ranks, const Target& target,
                     const Levels& levels);

}  // namespace ondeloc::coordinated
