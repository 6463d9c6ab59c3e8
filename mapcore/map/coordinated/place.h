// SPDX-License-Identifier: Apache-2.0
// Gives ranks slots on their nodes, or in their last-level caches. A rank that stays on its node
// keeps its slot. The other ranks take the free slots of their node. If all slots are alike, ranks
// take slots in the order of their numbers. Otherwise a greedy choice lets ranks that communicate
// much share the L2 or L3 cache of neighbouring slots (after the grouping step of TreeMatch: E.
// Jeannot, G. Mercier, F. Tessier, IEEE TPDS 25(4), 2014). Thread safety: pure.
#pragma once

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// The numbers of a partition are NUMA nodes or last-level caches.
enum class PlaceBy { kNode, kLlc };

Mapping place_on_slots(const MapRequest& request, std::span<const int> part,
                       PlaceBy by = PlaceBy::kNode);

}  // namespace ondeloc::coordinated
