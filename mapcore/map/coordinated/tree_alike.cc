// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_alike.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mapcore/map/coordinated/tree_groups.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kUnnamed = -1;

using Names = std::vector<int>;  // names[number] = new number

Names same_names(int count) {
  Names names(static_cast<std::size_t>(count));
  std::iota(names.begin(), names.end(), 0);
  return names;
}

// True if the cost of a partition stays the same when these caches of one node exchange their
// ranks.
bool may_change_places(const TreeTarget& target, int c, int d) {
  // Ways of off-node bytes to adapters differ from rank to rank.
  return target.kind_of[c] == target.kind_of[d] && target.capacity[c] == target.capacity[d] &&
         target.per_port[c] == target.per_port[d] && target.way_cost.empty();
}

bool keep_caches(const TreeTarget& target, const Names& caches) {
  for (int c = 0; c < target.llcs; ++c) {
    const int to = caches[c];
    if (target.capacity[c] != target.capacity[to] || target.per_port[c] != target.per_port[to])
      return false;
    for (int d = 0; d < target.llcs; ++d) {
      const std::size_t pair = target.at(c, d), other = target.at(to, caches[d]);
      if (target.byte_cost[pair] != target.byte_cost[other] ||
          target.message_cost[pair] != target.message_cost[other])
        return false;
    }
  }
  return true;
}

// Nodes without caches do not matter.
bool keep_links(const TreeTarget& target, const CacheGroups& caches, const Names& nodes) {
  Names links(static_cast<std::size_t>(target.links), kUnnamed);
  for (int k = 0; k < target.nodes; ++k) {
    for (int l = 0; l < target.nodes; ++l) {
      if (k == l || caches[k].empty() || caches[l].empty()) continue;
      const int link = target.link_between(k, l), to = target.link_between(nodes[k], nodes[l]);
      if (links[link] == kUnnamed) links[link] = to;
      if (links[link] != to || target.per_link[link] != target.per_link[to]) return false;
    }
  }
  return true;
}

// The same for two nodes: the k-th cache of the one exchanges its ranks with the k-th of the other.
bool may_nodes_change_places(const TreeTarget& target, const CacheGroups& caches, int m, int n) {
  if (caches[m].size() != caches[n].size() || target.per_node[m] != target.per_node[n] ||
      !target.way_cost.empty())
    return false;
  Names names = same_names(target.llcs), nodes = same_names(target.nodes);
  for (std::size_t k = 0; k < caches[m].size(); ++k)
    std::swap(names[caches[m][k]], names[caches[n][k]]);
  std::swap(nodes[m], nodes[n]);
  return keep_caches(target, names) && keep_links(target, caches, nodes);
}

}  // namespace

AlikeCaches::AlikeCaches(const TreeTarget& target) : in_node_(same_names(target.llcs)) {
  const CacheGroups nodes = caches_by_node(target);
  for (const auto& caches : nodes) {
    for (const int c : caches) {
      in_node_[c] = *std::find_if(caches.begin(), caches.end(), [&](int d) {
        return d == c || (in_node_[d] == d && may_change_places(target, c, d));
      });
    }
  }
  anywhere_ = in_node_;
  std::vector<int> firsts;  // the first node of each kind
  for (int n = 0; n < target.nodes; ++n) {
    const auto first = std::find_if(firsts.begin(), firsts.end(), [&](int m) {
      return may_nodes_change_places(target, nodes, m, n);
    });
    if (first == firsts.end()) {
      firsts.push_back(n);
      continue;
    }
    for (std::size_t k = 0; k < nodes[n].size(); ++k)
      anywhere_[nodes[n][k]] = in_node_[nodes[*first][k]];
  }
}

}  // namespace ondeloc::coordinated
