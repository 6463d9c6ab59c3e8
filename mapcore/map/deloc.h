// SPDX-License-Identifier: Apache-2.0
// DeLocMap with groups of concurrent pairs, for callers that have a profile. The algorithm `deloc`
// of the table has one sum matrix, which is one group. Source and rules: deloc.cc. Thread safety:
// pure functions.
#pragma once

#include <span>
#include <vector>

#include "mapcore/map/algorithm.h"

namespace ondeloc {

struct TaskPair {
  int a = 0, b = 0;  // a < b
  double bytes = 0;  // S_comm: both directions
};
// Pairs that communicate at the same time (one cluster); a pair may be in several groups.
using PairGroup = std::vector<TaskPair>;

PairGroup pairs_of(const Traffic& traffic);

// `argument`: "" or "join", as in the table. Only the number of ranks is taken from
// request.traffic.
Result<Mapping> map_deloc_groups(const MapRequest& request, std::span<const PairGroup> groups,
                                 std::string_view argument = {});

}  // namespace ondeloc
