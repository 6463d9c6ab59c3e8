// SPDX-License-Identifier: Apache-2.0
// The order of equal partitions: caches that the model cannot tell apart may exchange their ranks.
#pragma once

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

// Returns the partition with the ranks of nodes and of caches in the order of their least ranks, as
// far as this does not raise the cost. Thread safety: pure.
Part in_order_of_ranks(const TreeTarget& target, const Part& part);

// Returns the partition with the ranks of whole nodes, and of whole caches of a node, exchanged so
// that most ranks are in their node and their cache of `previous`, as far as this does not raise
// the cost. Thread safety: pure.
Part near_previous(const TreeTarget& target, const Part& part, const Part& previous);

}  // namespace ondeloc::coordinated
