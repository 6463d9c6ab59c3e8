// SPDX-License-Identifier: Apache-2.0
// The distribution of ranks over compute nodes that `ondeloc place` proposes. Thread safety: pure
// functions; the same network and traffic give the same distribution.
#pragma once

#include "mapcore/base/result.h"
#include "mapcore/place/layouts.h"

namespace ondeloc {

// The cheapest distribution that `coordinated` finds on the network. `coordinated` starts from
// nothing, again and again with the ranks numbered in another random order, until several
// distributions cost the same. If they never do, the cheapest one is searched on. Never more
// expensive than block and cyclic. REQUIRES: the network has as many slots as there are ranks.
Result<NodeOfRank> placed_layout(const Network& network, const Traffic& traffic);

}  // namespace ondeloc
