// SPDX-License-Identifier: Apache-2.0
// locality: least traffic times distance in the topology tree, load ignored, after TreeMatch
// (E. Jeannot, G. Mercier, F. Tessier, "Process Placement in Multicore Clusters", IEEE TPDS 25(4),
// 2014). Over the NUMA nodes by multilevel partitioning where TreeMatch groups bottom-up; inside a
// node greedily along the shared caches.
#include <algorithm>

#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/distance.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/search.h"

namespace ondeloc {
namespace {

using namespace coordinated;

// How far apart the nodes of two PUs are in the tree: 1 in one package, 2 on one board, 3 across
// boards.
double tree_distance(const Pu& a, const Pu& b) {
  double distance = 1;
  for (const Level level : {Level::kPackage, Level::kBoard})
    distance += a.at(level) != b.at(level) ? 1 : 0;
  return distance;
}

// Row-major nodes x nodes.
std::vector<double> tree_distances(const Machine& machine) {
  const std::size_t n = machine.nodes.size();
  std::vector<const Pu*> first;
  first.reserve(n);
  for (const NumaNode& node : machine.nodes) first.push_back(machine.find(PuOs(node.pus.first())));
  std::vector<double> distances;
  distances.reserve(n * n);
  for (const Pu* a : first) {
    for (const Pu* b : first) distances.push_back(a == b ? 0 : tree_distance(*a, *b));
  }
  return distances;
}

}  // namespace

Start coordinated::locality_start(const MapRequest& request, RankGraph& ranks, const Target& target,
                                  const Levels& levels) {
  const std::vector<double> distances = tree_distances(request.machine);
  DistanceRefiner refiner(target.capacity, distances, ranks.view.vertices);
  Part part;
  const Graph& skeleton = ranks.skeleton();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Graph coarse = level->view();
    if (part.empty()) part = grow_start(coarse, target, GrowBy::kRanks);
    if (part.empty()) continue;
    refiner.refine(coarse, part);
    part = project(*level, part);
  }
  if (part.empty() && !skeleton.edges.empty()) part = grow_start(skeleton, target, GrowBy::kRanks);
  if (part.empty()) part = packed_start(ranks.view, target);
  const double bytes_by_distance = refiner.refine(ranks.view, part);
  const double farthest = *std::max_element(distances.begin(), distances.end());
  return {std::move(part), farthest > 0 ? bytes_by_distance / farthest : 0};
}

Result<Mapping> map_locality(const MapRequest& request, std::string_view) {
  RankGraph ranks(request);
  const Target target = Target::from(request, ranks.strength);
  const Levels levels = levels_of(ranks.skeleton(), target);
  return place_on_slots(request, locality_start(request, ranks, target, levels).part);
}

}  // namespace ondeloc
