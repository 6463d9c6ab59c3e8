// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mapcore/map/coordinated/state.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::size_t distance_octets(std::size_t vertices, std::size_t nodes, std::size_t places) {
  return (vertices * (nodes + 1) + nodes * nodes) * sizeof(double) +
         (places + vertices + nodes) * sizeof(int) + 2 * nodes * sizeof(std::size_t) + vertices +
         256;
}

}  // namespace

DistanceRefiner::DistanceRefiner(std::span<const int> capacity, std::span<const double> distance,
                                 int vertices)
    : capacity_(capacity),
      distance_(distance),
      nodes_(static_cast<int>(capacity.size())),
      uniform_(is_uniform(distance, capacity.size())),
      apart_(distance.size() > 1 ? distance[1] : 0),
      memory_(distance_octets(
          static_cast<std::size_t>(vertices), capacity.size(),
          static_cast<std::size_t>(std::accumulate(capacity.begin(), capacity.end(), 0)))) {
  const auto n = static_cast<std::size_t>(vertices);
  cost_.resize(n * capacity.size());
  crossing_.resize(n);
  least_back_.resize(distance.size());
  position_.resize(n);
  free_slots_.resize(capacity.size());
  count_.resize(capacity.size());
  first_.reserve(capacity.size());
  std::size_t places = 0;
  for (const int slots : capacity) {
    first_.push_back(places);
    places += static_cast<std::size_t>(slots);
  }
  members_.resize(places);
  waiting_.resize(n);
}

// Computes the cost of the vertex's edges on each node.
void DistanceRefiner::price(int vertex) {
  double* cost = &cost_[at(vertex, 0)];
  std::fill_n(cost, nodes_, 0);
  if (!uniform_) {
    for (const Traffic::Edge& edge : graph_.row(vertex)) {
      const double* distance = &distance_[at(node_of(edge.peer), 0)];
      for (int k = 0; k < nodes_; ++k) cost[k] += edge.bytes * distance[k];
    }
    return;
  }
  for (const Traffic::Edge& edge : graph_.row(vertex)) cost[node_of(edge.peer)] -= edge.bytes;
  const double all = std::accumulate(cost, cost + nodes_, 0.0);
  for (int k = 0; k < nodes_; ++k) cost[k] = apart_ * (cost[k] - all);
}

void DistanceRefiner::reset() {
  std::fill(count_.begin(), count_.end(), 0);
  std::copy(capacity_.begin(), capacity_.end(), free_slots_.begin());
  std::fill(least_back_.begin(), least_back_.end(), kUnknown);
  total_ = 0;
  for (int i = 0; i < graph_.vertices; ++i) {
    const auto v = static_cast<std::size_t>(i), k = static_cast<std::size_t>(part_[v]);
    const std::size_t place = first_[k] + count_[k]++;
    members_[place] = i;
    position_[v] = static_cast<int>(place);
    free_slots_[k] -= graph_.size[v];
    price(i);
    total_ += cost_[at(i, part_[v])] / 2;
  }
  // The least gain is relative to the first sum: the present sum may shrink to mere rounding
  // errors.
  least_gain_ = kTieTolerance * total_;
}

// Assigns the vertex to another node and updates the costs of its peers.
void DistanceRefiner::shift(int vertex, int to) {
  const auto v = static_cast<std::size_t>(vertex);
  const int from = part_[v];
  part_[v] = to;
  free_slots_[from] += graph_.size[v];
  free_slots_[to] -= graph_.size[v];
  const double* here = &distance_[at(from, 0)];
  const double* there = &distance_[at(to, 0)];
  for (const Traffic::Edge& edge : graph_.row(vertex)) {
    double* cost = &cost_[at(edge.peer, 0)];
    waiting_[edge.peer] = 1;
    if (uniform_) {
      cost[from] += edge.bytes * apart_;
      cost[to] -= edge.bytes * apart_;
      continue;
    }
    for (int k = 0; k < nodes_; ++k) cost[k] += edge.bytes * (there[k] - here[k]);
  }
  waiting_[v] = 1;
}

void DistanceRefiner::apply(int vertex, const Choice& choice) {
  const int from = node_of(vertex), to = choice.to;
  const auto v = static_cast<std::size_t>(vertex);
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  int follower = choice.second;  // the vertex that takes the old place of `vertex`
  if (choice.second >= 0) {
    std::swap(position_[v], position_[follower]);
    shift(choice.second, from);
  } else {
    follower = members_[first_[a] + --count_[a]];
    position_[follower] = position_[v];
    position_[v] = static_cast<int>(first_[b] + count_[b]++);
  }
  members_[position_[follower]] = follower;
  members_[position_[v]] = vertex;
  shift(vertex, to);
  total_ += choice.change;
  forget(from, to);
}

// Forgets the least changes between any node and a or b, after a vertex moved between a and b. If
// distances differ, forgets all least changes.
void DistanceRefiner::forget(int a, int b) {
  if (!uniform_) return std::fill(least_back_.begin(), least_back_.end(), kUnknown);
  for (int k = 0; k < nodes_; ++k)
    least_back_[at(k, a)] = least_back_[at(k, b)] = least_back_[at(a, k)] = least_back_[at(b, k)] =
        kUnknown;
}

// Returns the least change when one member of `to` moves alone to `from`.
double DistanceRefiner::least_back(int to, int from) {
  double& least = least_back_[at(to, from)];
  if (!std::isnan(least)) return least;
  least = std::numeric_limits<double>::infinity();
  for (const int other : members(to)) least = std::min(least, change(other, to, from));
  return least;
}

bool DistanceRefiner::fits(int first, int second, int to) const {
  const int grows = graph_.size[first] - (second >= 0 ? graph_.size[second] : 0);
  return grows <= free_slots_[to] && -grows <= free_slots_[node_of(first)];
}

void DistanceRefiner::consider_swaps(int vertex, int to, Choice& best) {
  const int from = node_of(vertex);
  const double own = change(vertex, from, to);
  const double twice = 2 * distance_[at(from, to)];
  for (const int other : members(to)) {
    const double both = own + change(other, to, from) + twice * crossing_[other];
    if (both >= best.change || !fits(vertex, other, to)) continue;
    best = {both, other, to};
  }
}

DistanceRefiner::Choice DistanceRefiner::best_of(int vertex) {
  const int from = node_of(vertex);
  Choice best{-least_gain_, -1, -1};
  bool spread = false;
  for (int to = 0; to < nodes_; ++to) {
    const double own = change(vertex, from, to);
    if (own >= -least_gain_ || to == from) continue;
    if (own < best.change && fits(vertex, -1, to)) best = {own, -1, to};
    if (own + least_back(to, from) >= best.change) continue;
    if (!spread) {
      for (const Traffic::Edge& edge : graph_.row(vertex)) crossing_[edge.peer] = edge.bytes;
      spread = true;
    }
    consider_swaps(vertex, to, best);
  }
  if (spread) {
    for (const Traffic::Edge& edge : graph_.row(vertex)) crossing_[edge.peer] = 0;
  }
  return best;
}

// Returns true if a vertex moved.
bool DistanceRefiner::settle() {
  bool changed = false, waits = true;
  while (waits) {
    waits = false;
    for (int i = 0; i < graph_.vertices; ++i) {
      char& waiting = waiting_[i];
      if (waiting == 0) continue;
      waiting = 0;
      const Choice choice = best_of(i);
      if (choice.to < 0) continue;
      apply(i, choice);
      waits = changed = true;
    }
  }
  return changed;
}

double DistanceRefiner::refine(const Graph& graph, std::span<int> part) {
  graph_ = graph;
  part_ = part;
  reset();
  bool changed = true;
  // A move may make a step possible for a vertex that is not a neighbour of the moved vertex.
  for (int turn = 0; changed && (turn == 0 || graph.vertices <= tuning::kExhaustiveDistance);
       ++turn) {
    std::fill_n(waiting_.begin(), graph.vertices, char{1});
    changed = settle();
  }
  return total_;
}

}  // namespace ondeloc::coordinated
