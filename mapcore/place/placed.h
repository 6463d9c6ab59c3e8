// SPDX-License-Identifier: Apache-2.0
// The distribution of ranks over compute nodes that `ondeloc place` proposes. Thread safety: pure
// functions; the same network and traffic give the same distribution.
#pragma once

#include "mapcore/base/result.h"
#include "mapcore/place/layouts.h"

namespace ondeloc {

// The cheapest distribution that `coordinated` finds on the network, in no more time than Scotch
// needs if `effort` is 1. With more effort `coordinated` searches again and again with the ranks
// numbered in other random orders, four orders for each unit of effort, until eight distributions
// that started from nothing cost the same. Later orders also start from mixtures of the
// distributions found (mixed_layout.h). At last coordinated:EFFORT goes on from the cheapest. Never
// more expensive than block, cyclic and effort 1. REQUIRES: the network has as many slots as there
// are ranks; 1 <= effort <= kMostEffort.
Result<NodeOfRank> placed_layout(const Network& network, const Traffic& traffic, int effort);

}  // namespace ondeloc
