// SPDX-License-Identifier: Apache-2.0
// OnDeLocMap+: M. Agung, M. A. Amrizal, R. Egawa, H. Takizawa, "Online MPI Process Mapping for
// Coordinating Locality and Memory Congestion on NUMA Systems", Supercomputing Frontiers and
// Innovations 7(1), 2020, Algorithm 1.
//
// Pairs in descending order of traffic. `ondeloc`: a pair whose two ranks sat on one node stays
// there if that node has room for it, else it goes to the next node round-robin. `ondeloc:literal`:
// Algorithm 1 word for word, each rank of a pair to its own previous node first; from a full
// previous mapping this is the identity (every previous node always has room), so it is meant for a
// start without one.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"

namespace ondeloc {

namespace {

struct Pair {
  int a, b;
  double bytes;
};

// Line 2 and 3: descending bytes; ties by rank, so that the result is one.
std::vector<Pair> sorted_pairs(const Traffic& traffic) {
  std::vector<Pair> pairs;
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      if (edge.peer > i) pairs.push_back({i, edge.peer, edge.bytes});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
    return std::tuple(-x.bytes, x.a, x.b) < std::tuple(-y.bytes, y.a, y.b);
  });
  return pairs;
}

class Assignment {
 public:
  explicit Assignment(const MapRequest& request)
      : request_(request),
        free_(request.machine.nodes.size()),
        mapping_(static_cast<std::size_t>(request.traffic.ranks()), SlotIndex(-1)) {
    for (const SlotIndex slot : slots_by_node(request)) {
      free_[static_cast<std::size_t>(
                request.slots[static_cast<std::size_t>(slot.value)].node.value)]
          .push_back(slot);
    }
  }

  bool has(int rank) const { return mapping_[static_cast<std::size_t>(rank)].value >= 0; }
  std::size_t room(int node) const { return free_[static_cast<std::size_t>(node)].size(); }
  int previous_node(int rank) const {
    if (request_.previous.empty()) return -1;
    const SlotIndex slot = request_.previous[static_cast<std::size_t>(rank)];
    return request_.slots[static_cast<std::size_t>(slot.value)].node.value;
  }
  int node_of(int rank) const {
    return request_.slots[static_cast<std::size_t>(mapping_[static_cast<std::size_t>(rank)].value)]
        .node.value;
  }

  // On its previous slot when that is free on this node, so that nobody moves inside a node for
  // nothing.
  void place(int rank, int node) {
    auto& slots = free_[static_cast<std::size_t>(node)];
    auto pick = slots.begin();
    if (!request_.previous.empty()) {
      const auto same =
          std::find(slots.begin(), slots.end(), request_.previous[static_cast<std::size_t>(rank)]);
      if (same != slots.end()) pick = same;
    }
    mapping_[static_cast<std::size_t>(rank)] = *pick;
    slots.erase(pick);
  }

  // Line 11: the next node, round-robin, with room for `wanted`; with less room anywhere, for one.
  int next_node(std::size_t wanted) {
    const int n = static_cast<int>(free_.size());
    for (; wanted > 0; --wanted) {
      for (int step = 0; step < n; ++step) {
        const int node = (turn_ + step) % n;
        if (room(node) < wanted) continue;
        turn_ = (node + 1) % n;
        return node;
      }
    }
    return -1;
  }

  Mapping take() { return std::move(mapping_); }

 private:
  const MapRequest& request_;
  std::vector<std::vector<SlotIndex>> free_;  // per node, ascending PU
  Mapping mapping_;
  int turn_ = 0;
};

void place_near(Assignment& at, int rank, int node) {
  at.place(rank, at.room(node) > 0 ? node : at.next_node(1));
}

void place_pair(Assignment& at, const Pair& pair) {
  const int here = at.previous_node(pair.a);
  const bool stays = here >= 0 && here == at.previous_node(pair.b) && at.room(here) >= 2;
  const int node = stays ? here : at.next_node(2);
  at.place(pair.a, node);
  place_near(at, pair.b, node);
}

void place_pair_literal(Assignment& at, const Pair& pair) {
  const int first = at.previous_node(pair.a), second = at.previous_node(pair.b);
  const std::size_t needed = first == second ? 2 : 1;
  if (first >= 0 && second >= 0 && at.room(first) >= needed && at.room(second) >= needed) {
    at.place(pair.a, first);
    at.place(pair.b, second);
    return;
  }
  const int node = at.next_node(2);
  at.place(pair.a, node);
  place_near(at, pair.b, node);
}

// One rank of the pair is mapped already: the other joins it where there is room.
void join(Assignment& at, int placed, int rank, bool literal) {
  const int before = at.previous_node(rank);
  if (literal && before >= 0 && at.room(before) > 0) {
    at.place(rank, before);
  } else {
    place_near(at, rank, at.node_of(placed));
  }
}

}  // namespace

Result<Mapping> map_ondeloc(const MapRequest& request, std::string_view argument) {
  const bool literal = argument == "literal";
  Assignment at(request);
  for (const Pair& pair : sorted_pairs(request.traffic)) {
    if (!at.has(pair.a) && !at.has(pair.b)) {
      literal ? place_pair_literal(at, pair) : place_pair(at, pair);
    } else if (!at.has(pair.a)) {
      join(at, pair.b, pair.a, literal);
    } else if (!at.has(pair.b)) {
      join(at, pair.a, pair.b, literal);
    }
  }
  // Silent ranks stay where they were if they can.
  for (int rank = 0; rank < request.traffic.ranks(); ++rank) {
    if (at.has(rank)) continue;
    const int before = at.previous_node(rank);
    at.place(rank, before >= 0 && at.room(before) > 0 ? before : at.next_node(1));
  }
  return at.take();
}

}  // namespace ondeloc
