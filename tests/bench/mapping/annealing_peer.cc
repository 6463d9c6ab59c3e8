// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/bench/machine.h"
#include "tests/bench/mapping/peers.h"

namespace ondeloc::bench {
namespace {

// M and R kept over swaps of two places; a place is a slot, some of them hold no rank.
class State {
 public:
  explicit State(const MapRequest& request)
      : request_(request),
        n_(static_cast<std::size_t>(request.model.nodes)),
        load_(n_),
        link_(n_ * n_) {
    mapping_ = *compute_mapping("packed", request);
    rank_at_.assign(request.slots.size(), -1);
    for (std::size_t i = 0; i < mapping_.size(); ++i) {
      rank_at_[static_cast<std::size_t>(mapping_[i].value)] = static_cast<int>(i);
    }
    for (int i = 0; i < request.traffic.ranks(); ++i) {
      load_[node_of(i)] += request.traffic.strength(i);
      add_links(i, node_of(i), 0.5);  // every edge is seen from both ends
    }
  }

  void swap(int a, int b) {
    const int i = rank_at_[static_cast<std::size_t>(a)], j = rank_at_[static_cast<std::size_t>(b)];
    if (i >= 0) move(i, b);
    if (j >= 0) move(j, a);
    std::swap(rank_at_[static_cast<std::size_t>(a)], rank_at_[static_cast<std::size_t>(b)]);
  }

  double cost() const {
    double congestion = 0, weighted = 0, bandwidth = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      bandwidth += request_.model.bandwidth[k];
      congestion = std::max(congestion, load_[k] / request_.model.bandwidth[k]);
      for (std::size_t l = k + 1; l < n_; ++l) {
        congestion = std::max(congestion, link_[k * n_ + l] / request_.model.link[k * n_ + l]);
        weighted += link_[k * n_ + l] * request_.model.penalty[k * n_ + l];
      }
    }
    return congestion + weighted / bandwidth;
  }

  std::size_t node_of_slot(int slot) const {
    return static_cast<std::size_t>(request_.slots[static_cast<std::size_t>(slot)].node.value);
  }
  bool has_rank(int slot) const { return rank_at_[static_cast<std::size_t>(slot)] >= 0; }
  const Mapping& mapping() const { return mapping_; }

 private:
  std::size_t node_of(int rank) const {
    return node_of_slot(mapping_[static_cast<std::size_t>(rank)].value);
  }
  void add_links(int rank, std::size_t node, double share) {
    for (const Traffic::Edge& edge : request_.traffic.edges(rank)) {
      const std::size_t other = node_of(edge.peer);
      if (other != node)
        link_[std::min(node, other) * n_ + std::max(node, other)] += share * edge.bytes;
    }
  }
  void add(int rank, double sign) {
    load_[node_of(rank)] += sign * request_.traffic.strength(rank);
    add_links(rank, node_of(rank), sign);
  }
  void move(int rank, int slot) {
    add(rank, -1);
    mapping_[static_cast<std::size_t>(rank)] = SlotIndex(slot);
    add(rank, 1);
  }

  const MapRequest& request_;
  std::size_t n_;
  std::vector<double> load_, link_;
  Mapping mapping_;
  std::vector<int> rank_at_;
};

}  // namespace

PeerResult anneal(const MapRequest& request, long moves, unsigned seed) {
  const std::uint64_t begin = cpu_ns();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  State state(request);
  double now = state.cost(), best = now;
  Mapping best_mapping = state.mapping();
  double heat = now * 0.02;
  const double cooling = std::pow(1e-5, 1.0 / static_cast<double>(moves));
  for (long step = 0; step < moves; ++step, heat *= cooling) {
    const int a = static_cast<int>(random() % request.slots.size());
    const int b = static_cast<int>(random() % request.slots.size());
    if (state.node_of_slot(a) == state.node_of_slot(b) ||
        (!state.has_rank(a) && !state.has_rank(b)))
      continue;
    state.swap(a, b);
    const double then = state.cost();
    if (then <= now || uniform(random) < std::exp((now - then) / heat)) {
      now = then;
      if (now < best) best = now, best_mapping = state.mapping();
    } else {
      state.swap(a, b);
    }
  }
  return {std::move(best_mapping), 1e-9 * static_cast<double>(cpu_ns() - begin)};
}

}  // namespace ondeloc::bench
