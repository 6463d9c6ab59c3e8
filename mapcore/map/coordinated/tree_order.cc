// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/tree_groups.h"
#include "mapcore/map/coordinated/tree_valuation.h"

namespace ondeloc::coordinated {
namespace {

void name_groups(const std::vector<int>& names, const Part& part, const Part& previous,
                 std::vector<int>& new_name) {
  if (!previous.empty()) return name_as_before(names, part, previous, new_name);
  name_in_order(names, least_ranks(part, static_cast<int>(new_name.size())), new_name);
}

// Exchanges the ranks of whole nodes. The k-th cache of a node takes those of the k-th cache of the
// other node.
Part with_nodes_named(const TreeTarget& target, const Part& part, const Part& previous) {
  std::vector<int> names(static_cast<std::size_t>(target.nodes)), new_node(names.size());
  std::iota(names.begin(), names.end(), 0);
  name_groups(names, renamed(part, target.node_of), renamed(previous, target.node_of), new_node);
  const CacheGroups caches = caches_by_node(target);
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const int node : names) {
    const std::vector<int>&from = caches[node], &to = caches[new_node[node]];
    if (from.size() != to.size()) return part;
    for (std::size_t k = 0; k < from.size(); ++k) new_cache[from[k]] = to[k];
  }
  return renamed(part, new_cache);
}

Part with_caches_named(const TreeTarget& target, const Part& part, const Part& previous) {
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const std::vector<int>& caches : caches_by_node(target))
    name_groups(caches, part, previous, new_cache);
  return renamed(part, new_cache);
}

bool fits(const TreeTarget& target, const Part& part) {
  std::vector<int> room = target.capacity;
  return std::all_of(part.begin(), part.end(), [&](int cache) { return --room[cache] >= 0; });
}

}  // namespace

Part with_best_names(const TreeTarget& target, Part part, const Part& previous) {
  TreeLoads scratch;
  double cost = tree_cost(target, part, std::numeric_limits<double>::infinity(), scratch);
  const auto take_if_no_worse = [&](Part other) {
    if (!fits(target, other)) return;
    const double cost_of_other = tree_cost(target, other, 2 * cost, scratch);
    if (is_less(cost, cost_of_other)) return;
    cost = cost_of_other;
    part = std::move(other);
  };
  take_if_no_worse(with_nodes_named(target, part, previous));
  take_if_no_worse(with_caches_named(target, part, previous));
  return part;
}

}  // namespace ondeloc::coordinated
