// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/tree_groups.h"
#include "mapcore/map/coordinated/tree_valuation.h"

namespace ondeloc::coordinated {
namespace {

// Exchanges the ranks of whole nodes. The k-th cache of a node takes those of the k-th cache of the
// other node.
Part with_nodes_in_order(const TreeTarget& target, const Part& part) {
  std::vector<int> names(static_cast<std::size_t>(target.nodes)), new_node(names.size());
  std::iota(names.begin(), names.end(), 0);
  name_in_order(names, least_ranks(renamed(part, target.node_of), target.nodes), new_node);
  const CacheGroups caches = caches_by_node(target);
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const int node : names) {
    const std::vector<int>&from = caches[node], &to = caches[new_node[node]];
    if (from.size() != to.size()) return part;
    for (std::size_t k = 0; k < from.size(); ++k) new_cache[from[k]] = to[k];
  }
  return renamed(part, new_cache);
}

Part with_caches_in_order(const TreeTarget& target, const Part& part) {
  const std::vector<int> least = least_ranks(part, target.llcs);
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const std::vector<int>& caches : caches_by_node(target))
    name_in_order(caches, least, new_cache);
  return renamed(part, new_cache);
}

bool fits(const TreeTarget& target, const Part& part) {
  std::vector<int> room = target.capacity;
  return std::all_of(part.begin(), part.end(), [&](int cache) { return --room[cache] >= 0; });
}

}  // namespace

Part in_order_of_ranks(const TreeTarget& target, const Part& part) {
  TreeScratch scratch;
  const double cost = tree_cost(target, part, std::numeric_limits<double>::infinity(), scratch);
  const auto keep = [&](const Part& old, Part fresh) {
    if (!fits(target, fresh)) return old;
    return is_less(cost, tree_cost(target, fresh, 2 * cost, scratch)) ? old : std::move(fresh);
  };
  const Part nodes = keep(part, with_nodes_in_order(target, part));
  return keep(nodes, with_caches_in_order(target, nodes));
}

}  // namespace ondeloc::coordinated
