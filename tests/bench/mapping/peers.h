// SPDX-License-Identifier: Apache-2.0
// Who ondeloc is measured against.
#pragma once

#include <optional>
#include <string>

#include "mapcore/map/algorithm.h"

namespace ondeloc::bench {

struct PeerResult {
  Mapping mapping;
  double seconds = 0;  // CPU time of the peer's own call, of all its threads
};

// SCOTCH_graphMap of Scotch with its default strategy on a complete weighted architecture
// (archCmpltw, weights = slots per node); overfull nodes are repaired greedily outside the timing.
std::string scotch_version();
enum class Threads { kAsCalled, kOne };  // as called: one for each CPU, from Scotch 7 on
std::optional<PeerResult> scotch(const MapRequest& request, Threads threads = Threads::kAsCalled);

// Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) on the cost of evaluate(): `moves` random
// swaps of two slots, geometric cooling, the best mapping seen. From the packed mapping.
PeerResult anneal(const MapRequest& request, long moves, unsigned seed);

}  // namespace ondeloc::bench
