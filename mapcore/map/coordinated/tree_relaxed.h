// SPDX-License-Identifier: Apache-2.0
// A smoother cost for the search. The cost of a partition (cost.h) has the time of the busiest
// rank, and the maximum over all ranks has many local optima: a better place for the second
// busiest rank gains nothing. The relaxed target has a weighted sum of the times of all ranks in
// its place, and the weight of a rank is a power p of its time in a given partition, over the sum
// of these powers. That is the gradient of the (p + 1)-norm of the times, which tends to the
// maximum for large p. The sum is linear, so that it is the locality of a target whose edges weigh
// more. Thread safety: pure functions.
#pragma once

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

struct Relaxation {
  double power;
  // The cost is congestion + locality + weighted sum; otherwise without the congestion, for
  // partitions whose busiest rank takes longer than each resource.
  bool with_loads;
};

// REQUIRES: target.per_rank > 0. The result has no times of ranks.
TreeTarget relaxed_target(const TreeTarget& target, const Part& part, const Relaxation& how);

}  // namespace ondeloc::coordinated
