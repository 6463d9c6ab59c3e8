// SPDX-License-Identifier: Apache-2.0
// locality: least traffic times distance in the topology tree, load ignored, after TreeMatch
// (E. Jeannot, G. Mercier, F. Tessier, "Process Placement in Multicore Clusters", IEEE TPDS 25(4),
// 2014). Over the NUMA nodes by multilevel partitioning where TreeMatch groups bottom-up; inside a
// node greedily along the shared caches.
#include <algorithm>

#include "mapcore/map/algorithms.h"
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

Target tree_target(const MapRequest& request, std::span<const double> strength) {
  Target target = Target::from(request, strength);
  const std::size_t n = request.machine.nodes.size();
  const double unit = target.per_byte.empty() ? 1 : target.per_byte.front();
  std::fill(target.per_byte.begin(), target.per_byte.end(), 0);
  std::fill(target.link_per_byte.begin(), target.link_per_byte.end(), 0);
  target.mean_load = 0;
  target.uniform_penalty = true;
  std::vector<const Pu*> first;
  first.reserve(n);
  for (const NumaNode& node : request.machine.nodes)
    first.push_back(request.machine.find(PuOs(node.pus.first())));
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = 0; l < n; ++l) {
      target.penalty[k * n + l] = k == l ? 0 : unit * tree_distance(*first[k], *first[l]);
      if (k != l && target.penalty[k * n + l] != target.penalty[1]) target.uniform_penalty = false;
    }
  }
  return target;
}

}  // namespace

Start coordinated::locality_start(const MapRequest& request, RankGraph& ranks,
                                  const Levels& levels) {
  const Target target = tree_target(request, ranks.strength);
  Search search(ranks.view, target);
  const Part coarse = coarse_solution(ranks.skeleton(), target, levels, GrowBy::kRanks, false);
  search.offer(coarse.empty() ? packed_start(ranks.view, target) : coarse);
  return {search.best(), search.value().remote};
}

Result<Mapping> map_locality(const MapRequest& request, std::string_view) {
  RankGraph ranks(request);
  const Levels levels = levels_of(ranks.skeleton(), Target::from(request, ranks.strength));
  return place_on_slots(request, locality_start(request, ranks, levels).part);
}

}  // namespace ondeloc
