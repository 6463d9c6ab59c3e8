// SPDX-License-Identifier: Apache-2.0
// DeLocMap: M. Agung, doctoral thesis, Tohoku University, section 3.3, Algorithm 1, with
//   L_pair  = S_comm / sum over all pairs in all groups of S_comm     (equation 3.1)
//   L_group = sum over the pairs of the group of L_pair               (equation 3.2)
// Groups are taken in descending L_group, and the pairs of a group in descending L_pair. A pair
// that is not mapped goes to the current node. Every placed pair moves the turn on to the next
// node, so that the pairs of a group land on different nodes.
//
// The algorithm leaves four rules open. Ties go by rank index. A full node is passed over. If one
// rank of a pair is already mapped, the other rank goes to the current node, as line 12 says; with
// `deloc:join` the other rank goes to its partner's node while that node has room (and the turn
// does not move). Ranks without traffic fill the remaining slots, round-robin.
#include "mapcore/map/deloc.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "mapcore/map/algorithms.h"

namespace ondeloc {

PairGroup pairs_of(const Traffic& traffic) {
  PairGroup pairs;
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      if (edge.peer > i) pairs.push_back({i, edge.peer, edge.bytes});
    }
  }
  return pairs;
}

namespace {

class RoundRobin {
 public:
  explicit RoundRobin(const MapRequest& request)
      : request_(request),
        free_(request.machine.nodes.size()),
        mapping_(static_cast<std::size_t>(request.traffic.ranks()), SlotIndex(-1)) {
    for (const SlotIndex slot : slots_by_node(request)) free_[node_of_slot(slot)].push_back(slot);
    for (auto& slots : free_) std::reverse(slots.begin(), slots.end());  // taken from the back
  }

  bool has(int rank) const { return mapping_[rank].value >= 0; }
  std::size_t room(std::size_t node) const { return free_[node].size(); }
  std::size_t node_of(int rank) const { return node_of_slot(mapping_[rank]); }
  void place(int rank, std::size_t node) {
    mapping_[rank] = free_[node].back();
    free_[node].pop_back();
  }
  // Returns the current node, or the next node with room for `wanted` ranks. If no node has that
  // room, returns the next node with room for one rank.
  std::size_t current(std::size_t wanted) const {
    for (; wanted > 1; --wanted) {
      if (const auto node = from_turn(wanted)) return *node;
    }
    return *from_turn(1);
  }
  void move_on(std::size_t node) { turn_ = (node + 1) % free_.size(); }
  Mapping take() { return std::move(mapping_); }

 private:
  std::size_t node_of_slot(SlotIndex slot) const {
    return static_cast<std::size_t>(request_.slots[slot.value].node.value);
  }
  std::optional<std::size_t> from_turn(std::size_t wanted) const {
    for (std::size_t step = 0; step < free_.size(); ++step) {
      const std::size_t node = (turn_ + step) % free_.size();
      if (room(node) >= wanted) return node;
    }
    return std::nullopt;
  }

  const MapRequest& request_;
  std::vector<std::vector<SlotIndex>> free_;
  Mapping mapping_;
  std::size_t turn_ = 0;
};

void map_both(RoundRobin& at, const TaskPair& pair) {
  const std::size_t node = at.current(2);
  at.place(pair.a, node);
  at.place(pair.b, at.room(node) > 0 ? node : at.current(1));
  at.move_on(node);
}

void map_one(RoundRobin& at, int rank, int partner, bool join) {
  const std::size_t home = at.node_of(partner);
  if (join && at.room(home) > 0) return at.place(rank, home);
  const std::size_t node = at.current(1);
  at.place(rank, node);
  at.move_on(node);
}

double load(const PairGroup& group) {
  return std::accumulate(group.begin(), group.end(), 0.0,
                         [](double sum, const TaskPair& pair) { return sum + pair.bytes; });
}

// Lines 2 and 3: heaviest group first; ties keep the given order (time).
std::vector<std::size_t> sorted_groups(std::span<const PairGroup> groups) {
  double all = 0;
  for (const PairGroup& group : groups) all += load(group);
  std::vector<double> l_group;
  for (const PairGroup& group : groups) l_group.push_back(all > 0 ? load(group) / all : 0);
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return l_group[x] > l_group[y]; });
  return order;
}

// Line 8. L_pair is S_comm divided by a constant: the order is the order of the bytes.
PairGroup sorted_pairs(PairGroup group) {
  std::sort(group.begin(), group.end(), [](const TaskPair& x, const TaskPair& y) {
    return std::tuple(-x.bytes, x.a, x.b) < std::tuple(-y.bytes, y.a, y.b);
  });
  return group;
}

}  // namespace

Result<Mapping> map_deloc_groups(const MapRequest& request, std::span<const PairGroup> groups,
                                 std::string_view argument) {
  const bool join = argument == "join";
  RoundRobin at(request);
  for (const std::size_t g : sorted_groups(groups)) {
    for (const TaskPair& pair : sorted_pairs(groups[g])) {
      const bool a = at.has(pair.a), b = at.has(pair.b);
      if (!a && !b) map_both(at, pair);
      if (a != b) map_one(at, a ? pair.b : pair.a, a ? pair.a : pair.b, join);
    }
  }
  for (int rank = 0; rank < request.traffic.ranks(); ++rank) {
    if (at.has(rank)) continue;
    const std::size_t node = at.current(1);
    at.place(rank, node);
    at.move_on(node);
  }
  return at.take();
}

Result<Mapping> map_deloc(const MapRequest& request, std::string_view argument) {
  const std::vector<PairGroup> groups{pairs_of(request.traffic)};
  return map_deloc_groups(request, groups, argument);
}

}  // namespace ondeloc
