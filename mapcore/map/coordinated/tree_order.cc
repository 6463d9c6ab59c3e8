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
Part with_nodes_renamed(const TreeTarget& target, const Part& part,
                        const std::vector<int>& new_node) {
  const CacheGroups caches = caches_by_node(target);
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (std::size_t node = 0; node < new_node.size(); ++node) {
    const std::vector<int>&from = caches[node], &to = caches[new_node[node]];
    if (from.size() != to.size()) return part;
    for (std::size_t k = 0; k < from.size(); ++k) new_cache[from[k]] = to[k];
  }
  return renamed(part, new_cache);
}

Part with_nodes_in_order(const TreeTarget& target, const Part& part) {
  std::vector<int> names(static_cast<std::size_t>(target.nodes)), new_node(names.size());
  std::iota(names.begin(), names.end(), 0);
  name_in_order(names, least_ranks(renamed(part, target.node_of), target.nodes), new_node);
  return with_nodes_renamed(target, part, new_node);
}

Part with_caches_in_order(const TreeTarget& target, const Part& part) {
  const std::vector<int> least = least_ranks(part, target.llcs);
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const std::vector<int>& caches : caches_by_node(target))
    name_in_order(caches, least, new_cache);
  return renamed(part, new_cache);
}

// new_name[group]: names the groups of `part` so that most ranks have their group of `previous`.
// Only the groups in `names` get a name.
void name_as_before(const std::vector<int>& names, const Part& part, const Part& previous,
                    std::vector<int>& new_name) {
  std::vector<int> at(new_name.size(), -1), cost(names.size() * names.size());
  for (std::size_t k = 0; k < names.size(); ++k) at[names[k]] = static_cast<int>(k);
  for (std::size_t i = 0; i < part.size(); ++i)
    if (const int from = at[part[i]], to = at[previous[i]]; from >= 0 && to >= 0)
      --cost[static_cast<std::size_t>(from) * names.size() + static_cast<std::size_t>(to)];
  const std::vector<int> group = assign_least(cost, static_cast<int>(names.size()));
  for (std::size_t k = 0; k < names.size(); ++k) new_name[names[group[k]]] = names[k];
}

Part with_nodes_as_before(const TreeTarget& target, const Part& part, const Part& previous) {
  std::vector<int> names(static_cast<std::size_t>(target.nodes)), new_node(names.size());
  std::iota(names.begin(), names.end(), 0);
  name_as_before(names, renamed(part, target.node_of), renamed(previous, target.node_of), new_node);
  return with_nodes_renamed(target, part, new_node);
}

Part with_caches_as_before(const TreeTarget& target, const Part& part, const Part& previous) {
  std::vector<int> new_cache(static_cast<std::size_t>(target.llcs));
  for (const std::vector<int>& caches : caches_by_node(target))
    name_as_before(caches, part, previous, new_cache);
  return renamed(part, new_cache);
}

bool fits(const TreeTarget& target, const Part& part) {
  std::vector<int> room = target.capacity;
  return std::all_of(part.begin(), part.end(), [&](int cache) { return --room[cache] >= 0; });
}

// The other partition if it fits and costs no more.
Part if_no_worse(const TreeTarget& target, Part part, Part other) {
  if (!fits(target, other)) return part;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  TreeScratch scratch;
  const double cost = tree_cost(target, part, kNoLimit, scratch);
  return is_less(cost, tree_cost(target, other, 2 * cost, scratch)) ? part : other;
}

}  // namespace

Part in_order_of_ranks(const TreeTarget& target, const Part& part) {
  const Part nodes = if_no_worse(target, part, with_nodes_in_order(target, part));
  return if_no_worse(target, nodes, with_caches_in_order(target, nodes));
}

Part near_previous(const TreeTarget& target, const Part& part, const Part& previous) {
  const Part nodes = if_no_worse(target, part, with_nodes_as_before(target, part, previous));
  return if_no_worse(target, nodes, with_caches_as_before(target, nodes, previous));
}

}  // namespace ondeloc::coordinated
