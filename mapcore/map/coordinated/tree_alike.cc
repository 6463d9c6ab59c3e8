// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_alike.h"

#include <algorithm>
#include <numeric>

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

// Sets the new name of `from`. Returns false if `from` has another one already.
bool agrees(int& name, int to) {
  if (name == kUnnamed) name = to;
  return name == to;
}

// True if the cost of a partition stays the same when these caches of one node exchange their
// ranks.
bool may_change_places(const TreeTarget& target, int c, int d) {
  // Ways of off-node bytes to adapters differ from rank to rank.
  return target.kind_of[c] == target.kind_of[d] && target.capacity[c] == target.capacity[d] &&
         target.per_port[c] == target.per_port[d] && target.way_cost.empty();
}

// Exchanges the names of caches, and tells whether the cost of a partition stays the same.
class Exchange {
 public:
  Exchange(const TreeTarget& target, const std::vector<int>& usable)
      : target_(target), usable_(usable) {}

  // REQUIRES: as many caches in `a` as in `b`.
  bool changes_nothing(const std::vector<int>& a, const std::vector<int>& b) const {
    Names caches = same_names(target_.llcs);
    for (std::size_t k = 0; k < a.size(); ++k) std::swap(caches[a[k]], caches[b[k]]);
    return target_.way_cost.empty() && keeps_caches(caches) && keeps_resources(caches);
  }

 private:
  bool keeps_caches(const Names& caches) const {
    for (const int c : usable_) {
      const int to = caches[c];
      if (target_.capacity[c] != target_.capacity[to] ||
          target_.per_port[c] != target_.per_port[to])
        return false;
      for (const int d : usable_) {
        const std::size_t pair = target_.at(c, d), other = target_.at(to, caches[d]);
        if (target_.byte_cost[pair] != target_.byte_cost[other] ||
            target_.message_cost[pair] != target_.message_cost[other])
          return false;
      }
    }
    return true;
  }

  bool keeps_resources(const Names& caches) const {
    Names nodes(static_cast<std::size_t>(target_.nodes), kUnnamed);
    Names links(static_cast<std::size_t>(target_.links), kUnnamed);
    for (const int c : usable_) {
      const int node = target_.node_of[c], to = target_.node_of[caches[c]];
      if (!agrees(nodes[node], to) || target_.per_node[node] != target_.per_node[to]) return false;
    }
    for (const int c : usable_) {
      for (const int d : usable_) {
        const int k = target_.node_of[c], l = target_.node_of[d];
        if (k == l) continue;
        const int link = link_between(k, l), to = link_between(nodes[k], nodes[l]);
        if (!agrees(links[link], to) || target_.per_link[link] != target_.per_link[to])
          return false;
      }
    }
    return true;
  }

  int link_between(int k, int l) const {
    return target_.link_of[static_cast<std::size_t>(k) * target_.nodes + l];
  }

  const TreeTarget& target_;
  const std::vector<int>& usable_;
};

}  // namespace

AlikeCaches::AlikeCaches(const TreeTarget& target) : in_node_(same_names(target.llcs)) {
  const CacheGroups nodes = caches_by_node(target);
  std::vector<int> usable;
  for (const auto& caches : nodes) usable.insert(usable.end(), caches.begin(), caches.end());
  const Exchange exchange(target, usable);
  for (const auto& caches : nodes) {
    for (const int c : caches) {
      in_node_[c] = *std::find_if(caches.begin(), caches.end(), [&](int d) {
        return d == c || (in_node_[d] == d && may_change_places(target, c, d));
      });
    }
  }
  anywhere_ = in_node_;
  std::vector<const std::vector<int>*> kinds;  // the first node of each kind
  for (const auto& caches : nodes) {
    const auto first = std::find_if(kinds.begin(), kinds.end(), [&](const auto* kind) {
      return kind->size() == caches.size() && exchange.changes_nothing(*kind, caches);
    });
    if (first == kinds.end()) {
      kinds.push_back(&caches);
      continue;
    }
    for (std::size_t k = 0; k < caches.size(); ++k) anywhere_[caches[k]] = in_node_[(**first)[k]];
  }
}

}  // namespace ondeloc::coordinated
