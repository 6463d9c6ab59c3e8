// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/bench/machine.h"
#include "tests/bench/mapping/peers.h"

namespace ondeloc::bench {
namespace {

// Keeps the loads and the locality of evaluate() up to date over swaps of two slots; some slots
// hold no rank.
class State {
 public:
  explicit State(const MapRequest& request)
      : request_(request),
        model_(request.model),
        of_byte_(model_.byte_weight()),
        of_message_(model_.message_bytes(request.traffic.ranks())),
        byte_factor_(model_.byte_factor(request.traffic.ranks())),
        message_factor_(model_.message_factor(request.traffic.ranks())),
        load_(static_cast<std::size_t>(model_.nodes)),
        link_(model_.link_capacity.size()),
        port_(model_.port.size()),
        rank_(model_.knows_ranks ? static_cast<std::size_t>(request.traffic.ranks()) : 0) {
    mapping_ = *compute_mapping("packed", request);
    rank_at_.assign(request.slots.size(), -1);
    for (std::size_t i = 0; i < mapping_.size(); ++i)
      rank_at_[mapping_[i].value] = static_cast<int>(i);
    for (int i = 0; i < request.traffic.ranks(); ++i)
      add(i, 1, 0.5);  // the loop visits every edge from both ends
  }

  void swap(int a, int b) {
    const int i = rank_at_[a], j = rank_at_[b];
    if (i >= 0) move(i, b);
    if (j >= 0) move(j, a);
    std::swap(rank_at_[a], rank_at_[b]);
  }

  double cost() const {
    double congestion = 0;
    for (std::size_t k = 0; k < load_.size(); ++k)
      congestion = std::max(congestion, load_[k] / model_.bandwidth[k]);
    for (std::size_t l = 0; l < link_.size(); ++l)
      congestion = std::max(congestion, link_[l] / model_.link_capacity[l]);
    for (std::size_t c = 0; c < port_.size(); ++c)
      congestion = std::max(congestion, port_[c] / model_.port[c]);
    double busiest = 0;
    for (const double seconds : rank_) busiest = std::max(busiest, seconds);
    return congestion + busiest + local_;
  }

  bool is_same_place(int a, int b) const {
    return request_.slots[a].seat.llc == request_.slots[b].seat.llc;
  }
  bool has_rank(int slot) const { return rank_at_[slot] >= 0; }
  const Mapping& mapping() const { return mapping_; }

 private:
  // `share`: of each edge, 1 if only this end visits the edge.
  void add(int rank, double sign, double share) {
    const Seat& here = request_.slots[mapping_[rank].value].seat;
    const auto edges = request_.traffic.edges(rank);
    const auto messages = request_.traffic.messages(rank);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Seat& there = request_.slots[mapping_[edges[e].peer].value].seat;
      const double amount = sign * (of_byte_ * edges[e].bytes + of_message_ * messages[e]);
      load_[here.node.value] += amount;
      const double seconds =
          sign * share *
          (byte_factor_ * edges[e].bytes * model_.byte_cost_between(here, there) +
           message_factor_ * messages[e] * model_.message_cost_between(here, there));
      local_ += seconds;
      if (!rank_.empty()) {
        rank_[rank] += seconds * static_cast<double>(rank_.size());
        rank_[edges[e].peer] += seconds * static_cast<double>(rank_.size());
      }
      if (here.llc == there.llc) continue;
      if (!port_.empty()) {
        port_[here.llc.value] += share * amount;
        port_[there.llc.value] += share * amount;
      }
      if (!(here.node == there.node))
        link_[model_.link_of[here.node.value * model_.nodes + there.node.value]] += share * amount;
    }
  }
  void move(int rank, int slot) {
    add(rank, -1, 1);
    mapping_[rank] = SlotIndex(slot);
    add(rank, 1, 1);
  }

  const MapRequest& request_;
  const CostModel& model_;
  double of_byte_, of_message_, byte_factor_, message_factor_;
  std::vector<double> load_, link_, port_, rank_;
  double local_ = 0;
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
    if (state.is_same_place(a, b) || (!state.has_rank(a) && !state.has_rank(b))) continue;
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
