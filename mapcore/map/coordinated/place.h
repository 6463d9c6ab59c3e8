// SPDX-License-Identifier: Apache-2.0
// From nodes to slots. A rank that stays on its node keeps its slot. The others take the free slots
// of their node: in order of their numbers where all slots are alike, else greedily so that ranks
// that talk much share the L2 or L3 cache of neighbouring slots (after the grouping step of
// TreeMatch: E. Jeannot, G. Mercier, F. Tessier, IEEE TPDS 25(4), 2014). Thread safety: pure.
#pragma once

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

Mapping place_on_slots(const MapRequest& request, std::span<const int> part);

}  // namespace ondeloc::coordinated
