// SPDX-License-Identifier: Apache-2.0
// Distributions from which a search for a cheaper one starts. Each node keeps its number of ranks.
// Thread safety: pure functions of the random numbers.
#pragma once

#include <random>

#include "mapcore/place/layouts.h"

namespace ondeloc {

// `first`, in which the ranks that `second` puts on another node exchange their places by chance.
// The names of the nodes do not count: node 0 of one may be node 3 of the other. If hardly any rank
// or more than half of them differ, a fifth of the ranks exchange their places. REQUIRES:
// both distributions have the same ranks, on `nodes` nodes at most.
//
// Source: P. Sanders and C. Schulz, "Distributed evolutionary graph partitioning", ALENEX 2012: two
// partitions share what is good in both.
NodeOfRank mixed_layout(const NodeOfRank& first, const NodeOfRank& second, std::size_t nodes,
                        std::mt19937_64& random);

// `layout`, in which two groups of ranks of different nodes exchange their places. A group is a
// rank with the ranks of its node that exchange most bytes with the group, at most half of the
// node. If no such pair of nodes is found, nothing changes.
//
// Search by single ranks does not get there: a group that lies in the wrong node costs more after
// each of its ranks but the last has moved.
NodeOfRank exchanged_layout(const NodeOfRank& layout, const Traffic& traffic,
                            std::mt19937_64& random);

}  // namespace ondeloc
