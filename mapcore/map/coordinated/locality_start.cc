// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/locality_start.h"

#include <algorithm>

#include "mapcore/map/coordinated/distance.h"

namespace ondeloc::coordinated {
namespace {

double tree_distance(const Pu& a, const Pu& b) {
  double distance = 1;
  for (const Level level : {Level::kPackage, Level::kBoard})
    distance += a.at(level) != b.at(level) ? 1 : 0;
  return distance;
}

}  // namespace

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

Start locality_start(const std::vector<double>& distances, RankGraph& ranks, const Target& target,
                     const Levels& levels) {
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

}  // namespace ondeloc::coordinated
