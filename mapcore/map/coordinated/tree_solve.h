// SPDX-License-Identifier: Apache-2.0
// `coordinated` for machines on which the NUMA nodes alone do not determine the cost
// (nodes_tell_all.h), such as those with several last-level caches in a node. Thread safety: pure
// functions.
#pragma once

#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

// Maps ranks to slots on the whole tree. A present mapping or a start that costs no more than a
// lower bound of all mappings (tree_valuation.h) ends the search. Few ranks get the cheapest
// partition of all (tree_exact.h), if the work for its proof suffices. A present mapping also ends
// the search if it is a local optimum and costs no more than the starts and a rough fresh solution:
// this is the usual interval. Else the ranks are partitioned over the nodes, and the ranks of each
// node over the node's caches (tree_divide.h), both from the present mapping. These partitions and
// the cheapest start are refined over all caches at once (tree_search.h), and the best is perturbed
// as long as counted work lasts. Ranks then take slots, and ranks in one cache exchange slots if
// sharing a core saves latency. By evaluate(), the result costs no more than the present mapping
// and any start. If the gain is less than a millionth, no rank moves.
Mapping solve_on_tree(const MapRequest& request, int effort);

}  // namespace ondeloc::coordinated
