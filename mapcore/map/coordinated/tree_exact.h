// SPDX-License-Identifier: Apache-2.0
// The cheapest partition of a few ranks over the last-level caches, by branch and bound (A. H. Land
// and A. G. Doig, "An automatic method of solving discrete programming problems", Econometrica
// 28(3), 1960). One rank after another is given a cache. No term of the cost falls when one more
// rank has its cache, so that the terms of some ranks bound the cost of all partitions that agree
// on these ranks. Of empty caches that the model cannot tell apart, only one is tried. Work is
// counted, not timed. Thread safety: pure function.
#pragma once

#include <cstdint>

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

struct Cheapest {
  Part part;               // the cheapest partition found
  bool is_proven = false;  // no partition costs less
};

// Returns `start` if no partition found costs less. Each rank tries its cache of `start` first, so
// that few ranks leave their caches. One unit of work gives one rank one cache; the time of a unit
// grows with the numbers of ranks, caches and links. REQUIRES: no cache is above its capacity.
Cheapest cheapest_part(const TreeTarget& target, const Part& start, std::int64_t work);

}  // namespace ondeloc::coordinated
