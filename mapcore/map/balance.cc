// SPDX-License-Identifier: Apache-2.0
// balance: puts the ranks with most traffic on different NUMA nodes (DeLoc thesis, section 2.3.3),
// as longest processing time first: in descending order of traffic, each rank goes to the node with
// the least load so far.
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/search.h"

namespace ondeloc {

Result<Mapping> map_balance(const MapRequest& request, std::string_view) {
  const coordinated::RankGraph ranks(request);
  const auto target = coordinated::Target::from(request, ranks.strength);
  return coordinated::place_on_slots(request, coordinated::balance_start(ranks.view, target));
}

}  // namespace ondeloc
