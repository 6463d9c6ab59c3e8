// SPDX-License-Identifier: Apache-2.0
// The algorithms that ondeloc is compared with.
#pragma once

#include <optional>
#include <string>

#include "tests/bench/mapping/inputs.h"

namespace ondeloc::bench {

struct PeerResult {
  Mapping mapping;
  double seconds = 0;  // CPU time of the peer's own call, of all its threads
};

// SCOTCH_graphMap of Scotch with its default strategy. The target is a complete graph of NUMA nodes
// (archCmplt), or on tree shapes the tree of packages, nodes and caches (archTleaf) with the cost
// of the model at each level. The edges have the amounts of the model. Overfull leaves are repaired
// greedily outside the timing.
std::string scotch_version();
enum class Threads { kAsCalled, kOne };  // as called: one for each CPU, from Scotch 7 on
std::optional<PeerResult> scotch(const Problem& problem, Threads threads = Threads::kAsCalled);

// The process mapping of KaHIP, configuration strong, without imbalance, on a complete graph of
// NUMA nodes (M. Fonseca Faraj, A. van der Grinten, H. Meyerhenke, J. L. Träff, C. Schulz, SEA
// 2020). Only in a build that found KaHIP: ONDELOC_BENCH_KAHIP.
std::optional<PeerResult> kahip(const Problem& problem);

// TreeMatch-style locality (E. Jeannot, G. Mercier, F. Tessier, IEEE TPDS 25(4), 2014): ranks are
// grouped from the caches upwards, each group greedily by its traffic. Loads do not count.
PeerResult treematch(const Problem& problem);

// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) on the cost of evaluate(): `moves` random
// swaps of two slots, geometric cooling, the best mapping seen. From the packed mapping.
PeerResult anneal(const MapRequest& request, long moves, unsigned seed);

}  // namespace ondeloc::bench
