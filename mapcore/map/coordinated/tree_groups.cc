// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_groups.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

// The mean load of a port for a byte that leaves its cache; 0 if a group has several caches.
double mean_port(const CacheGroups& groups, const TreeTarget& tree) {
  double sum = 0;
  for (const auto& group : groups) {
    if (group.size() > 1) return 0;
    sum += tree.per_port[group.front()];
  }
  return sum / static_cast<double>(groups.size());
}

// The cost of a unit of amount between the cache and the nearest other cache that `is_wanted`;
// infinite if there is none.
template <class Wanted>
double least_amount_cost(const TreeTarget& tree, const CostModel& model, int llc,
                         Wanted is_wanted) {
  double least = HUGE_VAL;
  for (int other = 0; other < tree.llcs; ++other)
    if (other != llc && tree.capacity[other] > 0 && is_wanted(other))
      least = std::min(least, model.amount_cost_between(llc, other, tree.ranks));
  return least;
}

bool is_node_step_small(const TreeTarget& tree, const CostModel& model) {
  for (int llc = 0; llc < tree.llcs; ++llc) {
    if (tree.capacity[llc] == 0) continue;
    const double inside = least_amount_cost(
        tree, model, llc, [&](int other) { return tree.is_one_node(llc, other); });
    const double across = least_amount_cost(tree, model, llc, [&](int other) {
      return !tree.is_one_node(llc, other) && tree.package_of[llc] == tree.package_of[other];
    });
    if (std::isinf(inside) || across > tuning::kSmallNodeStep * inside) return false;
  }
  return true;
}

}  // namespace

CacheGroups caches_by_node(const TreeTarget& tree) {
  CacheGroups nodes(static_cast<std::size_t>(tree.nodes));
  for (int c = 0; c < tree.llcs; ++c) nodes[tree.node_of[c]].push_back(c);
  return nodes;
}

CacheGroups each_alone(const std::vector<int>& llcs) {
  CacheGroups groups;
  for (const int llc : llcs) groups.push_back({llc});
  return groups;
}

CacheGroups packages_of(const TreeTarget& tree, const CostModel& model) {
  std::map<int, std::vector<int>> caches;
  for (int c = 0; c < tree.llcs; ++c)
    if (tree.capacity[c] > 0) caches[tree.package_of[c]].push_back(c);
  if (caches.size() < 2 || !is_node_step_small(tree, model)) return {};
  CacheGroups groups;
  for (auto& [package, list] : caches) groups.push_back(std::move(list));
  return groups;
}

Target target_over(const CacheGroups& groups, const TreeTarget& tree, const CostModel& model,
                   const RankGraph& ranks) {
  const std::size_t n = groups.size();
  double all = 0;
  for (const double strength : ranks.strength) all += strength;
  const double port = mean_port(groups, tree);
  Target target;
  target.nodes = static_cast<int>(n);
  target.unit = all > 0 ? std::exp2(-std::ilogb(all)) : 1;
  const double scale = 1 / (port > 0 ? port : tree.per_node[tree.node_of[groups[0][0]]]);
  for (std::size_t g = 0; g < n; ++g) {
    int capacity = 0;
    for (const int llc : groups[g]) capacity += tree.capacity[llc];
    target.capacity.push_back(capacity);
    if (capacity > 0)
      target.smallest = target.usable++ == 0 ? capacity : std::min(target.smallest, capacity);
    target.per_byte.push_back(target.unit * tuning::kInsideLoad);
    for (std::size_t h = 0; h < n; ++h) {
      const double time = model.amount_cost_between(groups[g][0], groups[h][0], tree.ranks);
      const double crossing = time + 2 * port / static_cast<double>(n);
      target.link_per_byte.push_back(0);
      target.penalty.push_back(g == h ? 0 : target.unit * scale * crossing);
    }
  }
  target.uniform_penalty = is_uniform(target.penalty, n);
  const double usable = std::max(1, target.usable);
  target.mean_load = target.unit * tuning::kInsideLoad * all / usable;
  target.least_squares = usable;
  return target;
}

}  // namespace ondeloc::coordinated
