// SPDX-License-Identifier: Apache-2.0
// Keeping ranks where they are. A partition says which ranks belong together; which node a group
// gets, and which of two equally good partitions is taken, is chosen so that as few ranks as
// possible leave the node they are on. No step changes the predicted cost for the worse.
#pragma once

#include "mapcore/map/coordinated/refine.h"
#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// Renames the nodes of `part` among nodes that the model cannot tell apart: the assignment that
// keeps most ranks, by the Hungarian method (H. W. Kuhn, Naval Res. Logist. Q. 2, 1955) inside
// every class of such nodes.
Part relabel(const Target& target, std::span<const int> part, std::span<const int> previous);

// Swaps and moves single ranks back to their previous node as long as the value stays the same or
// gets better. `state` holds the partition, and the result.
void move_back(State& state, std::span<const int> previous);

}  // namespace ondeloc::coordinated
