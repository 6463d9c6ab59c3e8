// SPDX-License-Identifier: Apache-2.0
// The order of equal partitions: caches that the model cannot tell apart may exchange their ranks.
#pragma once

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

// Returns the partition with the ranks of whole nodes, and of whole caches of a node, exchanged as
// far as this does not raise the cost: so that most ranks are in their node and their cache of
// `previous`, or if `previous` is empty, in the order of their least ranks. Thread safety: pure.
Part with_best_names(const TreeTarget& target, Part part, const Part& previous);

}  // namespace ondeloc::coordinated
