// SPDX-License-Identifier: Apache-2.0
// locality: least traffic times distance in the topology tree, load ignored, after TreeMatch (E.
// Jeannot, G. Mercier, F. Tessier, "Process Placement in Multicore Clusters", IEEE TPDS 25(4),
// 2014). TreeMatch groups bottom-up. This algorithm uses multilevel partitioning over the NUMA
// nodes, and inside a node a greedy choice along the shared caches.
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/place.h"

namespace ondeloc {

Result<Mapping> map_locality(const MapRequest& request, std::string_view) {
  using namespace coordinated;
  RankGraph ranks(request);
  const Target target = Target::from(request, ranks.strength);
  const Levels levels = levels_of(ranks.skeleton(), target);
  const std::vector<double> distances = tree_distances(request.machine);
  return place_on_slots(request, locality_start(distances, ranks, target, levels).part);
}

}  // namespace ondeloc
