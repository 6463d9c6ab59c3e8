// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/state.h"

#include <algorithm>
#include <numeric>

namespace ondeloc::coordinated {

namespace {

// Returns the size of the arrays of a state, with some room for alignment.
std::size_t state_octets(std::size_t vertices, std::size_t nodes, std::size_t places) {
  const std::size_t ints = vertices + places + nodes, sizes = vertices + 2 * nodes;
  const std::size_t floats = places * (nodes + 1), doubles = nodes * (1 + nodes + vertices);
  return ints * sizeof(int) + sizes * sizeof(std::size_t) + floats * sizeof(float) +
         doubles * sizeof(double) + 256;
}

std::size_t positions_of(const Target& target) {
  return static_cast<std::size_t>(
      std::accumulate(target.capacity.begin(), target.capacity.end(), 0));
}

}  // namespace

State::State(const Graph& graph, const Target& target)
    : graph_(graph),
      target_(target),
      nodes_(target.nodes),
      memory_(state_octets(static_cast<std::size_t>(graph.vertices),
                           static_cast<std::size_t>(target.nodes), positions_of(target))) {
  const auto n = static_cast<std::size_t>(graph.vertices), k = static_cast<std::size_t>(nodes_);
  part_.resize(n);
  position_.resize(n);
  first_member_.resize(k);
  member_count_.resize(k);
  used_.resize(k);
  load_.resize(k);
  link_.resize(k * k);
  bytes_to_.resize(n * k);
  for (std::size_t node = 0; node < k; ++node) {
    first_member_[node] = positions_;
    positions_ += static_cast<std::size_t>(target.capacity[node]);
  }
  members_.resize(positions_);
  weight_.resize(positions_);
  near_.resize(positions_ * k);
}

// Gives the vertex this position among the members of its node.
void State::put_at(int vertex, std::size_t position) {
  const auto v = static_cast<std::size_t>(vertex);
  position_[v] = position;
  members_[position] = vertex;
  weight_[position] = to_weight(graph_.strength[v]);
  const double* bytes = &bytes_to_[index(vertex, 0)];
  for (int k = 0; k < nodes_; ++k)
    near_[static_cast<std::size_t>(k) * positions_ + position] = to_weight(bytes[k]);
}

void State::reset(std::span<const int> part) {
  std::fill(member_count_.begin(), member_count_.end(), 0);
  std::fill(used_.begin(), used_.end(), 0);
  std::fill(load_.begin(), load_.end(), 0);
  std::fill(link_.begin(), link_.end(), 0);
  std::fill(bytes_to_.begin(), bytes_to_.end(), 0);
  std::copy(part.begin(), part.end(), part_.begin());
  for (int i = 0; i < vertices(); ++i) {
    const auto v = static_cast<std::size_t>(i), k = static_cast<std::size_t>(part_[v]);
    used_[k] += graph_.size[v];
    load_[k] += graph_.strength[v];
    double* bytes = &bytes_to_[index(i, 0)];
    for (const Traffic::Edge& edge : graph_.row(i)) bytes[part_[edge.peer]] += edge.bytes;
    double* row = &link_[k * static_cast<std::size_t>(nodes_)];
    for (int l = 0; l < nodes_; ++l) row[l] += bytes[l];
    put_at(i, first_member_[k] + member_count_[k]++);
  }
  refresh();
}

void State::refresh() {
  ++epoch_;
  heaviest_[0] = heaviest_[1] = heaviest_[2] = -1;
  double top[3] = {-1, -1, -1};
  value_ = {};
  largest_link_ = 0;
  locality_ = 0;
  for (int k = 0; k < nodes_; ++k) {
    const double load = load_[k] * target_.per_byte[k];
    value_.squares += load * load;
    int rank = load > top[0] ? 0 : load > top[1] ? 1 : load > top[2] ? 2 : 3;
    for (int r = 2; r > rank; --r) top[r] = top[r - 1], heaviest_[r] = heaviest_[r - 1];
    if (rank < 3) top[rank] = load, heaviest_[rank] = k;
    for (int l = k + 1; l < nodes_; ++l) {
      const std::size_t at = index(k, l);
      value_.remote += link_[at] * target_.unit;
      locality_ += link_[at] * target_.penalty[at];
      largest_link_ = std::max(largest_link_, link_[at] * target_.link_per_byte[at]);
    }
  }
  const double mean = target_.mean_load;
  floor_ = locality_ + (smoothing_ > 0 ? smoothing_ * mean * mean * target_.least_squares : mean);
  value_.cost =
      locality_ + (smoothing_ > 0 ? smoothing_ * value_.squares : std::max(top[0], largest_link_));
}

void State::smooth(double smoothing) {
  smoothing_ = smoothing;
  refresh();
}

void State::shift_bytes(int vertex, int from, int to) {
  const auto v = static_cast<std::size_t>(vertex);
  const double* bytes = &bytes_to_[index(vertex, 0)];
  // The vertex's bytes with its old node now cross the link, and its bytes with its new node no
  // longer do.
  const double between = link_[index(from, to)] + bytes[from] - bytes[to];
  for (int k = 0; k < nodes_; ++k) {
    if (bytes[k] == 0) continue;
    link_[index(k, from)] = link_[index(from, k)] -= bytes[k];
    link_[index(k, to)] = link_[index(to, k)] += bytes[k];
  }
  link_[index(from, to)] = link_[index(to, from)] = between;
  for (const Traffic::Edge& edge : graph_.row(vertex)) {
    double* peer = &bytes_to_[index(edge.peer, 0)];
    peer[from] -= edge.bytes;
    peer[to] += edge.bytes;
    float* near = &near_[position_[edge.peer]];
    near[static_cast<std::size_t>(from) * positions_] = to_weight(peer[from]);
    near[static_cast<std::size_t>(to) * positions_] = to_weight(peer[to]);
  }
  load_[from] -= graph_.strength[v];
  load_[to] += graph_.strength[v];
  used_[from] -= graph_.size[v];
  used_[to] += graph_.size[v];
  part_[v] = to;
}

void State::move(int vertex, int node) {
  const auto v = static_cast<std::size_t>(vertex);
  const auto a = static_cast<std::size_t>(part_[v]), b = static_cast<std::size_t>(node);
  shift_bytes(vertex, part_[v], node);
  const std::size_t position = position_[v];
  put_at(members_[first_member_[a] + --member_count_[a]], position);
  put_at(vertex, first_member_[b] + member_count_[b]++);
  refresh();
}

void State::swap(int first, int second) {
  const auto i = static_cast<std::size_t>(first), j = static_cast<std::size_t>(second);
  const int a = part_[i], b = part_[j];
  shift_bytes(first, a, b);
  shift_bytes(second, b, a);
  const std::size_t position = position_[i];
  put_at(first, position_[j]);
  put_at(second, position);
  refresh();
}

// Returns the largest R_kl/X_kl after the move. Links that the move does not touch may be left out
// if all of them are below `floor`: they do not matter to the caller.
double State::links_after(int first, int second, int from, int to, double edge,
                          double floor) const {
  const double* out = bytes_to(first);
  const double* in = second >= 0 ? bytes_to(second) : nullptr;
  double most = 0, between = link_[index(from, to)] + out[from] - out[to];
  if (in != nullptr) between += in[to] - in[from] + 2 * edge;
  most = between * target_.link_per_byte[index(from, to)];
  for (int k = 0; k < nodes_; ++k) {
    if (k == from || k == to) continue;
    const double change = in != nullptr ? out[k] - in[k] : out[k];
    most = std::max({most, (link_[index(from, k)] - change) * target_.link_per_byte[index(from, k)],
                     (link_[index(to, k)] + change) * target_.link_per_byte[index(to, k)]});
  }
  if (largest_link_ <= std::max(most, floor)) return most;
  for (int k = 0; k < nodes_; ++k) {
    if (k == from || k == to) continue;
    for (int l = k + 1; l < nodes_; ++l) {
      if (l == from || l == to) continue;
      most = std::max(most, link_[index(k, l)] * target_.link_per_byte[index(k, l)]);
    }
  }
  return most;
}

// Computes the value without the links, whose congestion can only add to the value.
Value State::least_after(int first, int second, int to, double edge, double known_locality) const {
  const int from = part(first);
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  const double moved = graph_.strength[first] - (second >= 0 ? graph_.strength[second] : 0);
  const double old_a = load_[a] * target_.per_byte[a], old_b = load_[b] * target_.per_byte[b];
  const double new_a = (load_[a] - moved) * target_.per_byte[a];
  const double new_b = (load_[b] + moved) * target_.per_byte[b];
  Value value;
  value.squares = value_.squares - old_a * old_a - old_b * old_b + new_a * new_a + new_b * new_b;
  value.cost = locality_ + known_locality;
  value.cost += smoothing_ > 0 ? smoothing_ * value.squares
                               : std::max({largest_load_without(from, to), new_a, new_b});
  const double* out = bytes_to(first);
  double more = out[from] - out[to];
  if (second >= 0) more += bytes_to(second)[to] - bytes_to(second)[from] + 2 * edge;
  value.remote = value_.remote + more * target_.unit;
  return value;
}

Value State::value_after(int first, int second, int to, double edge, double known_locality) const {
  Value value = least_after(first, second, to, edge, known_locality);
  add_links(value, first, second, to, edge, locality_ + known_locality);
  return value;
}

void State::add_links(Value& value, int first, int second, int to, double edge,
                      double locality) const {
  if (smoothing_ > 0) return;
  const double links = links_after(first, second, part(first), to, edge, value.cost - locality);
  value.cost = std::max(value.cost, locality + links);
}

bool State::improves(int first, int second, int to, double edge, double known_locality,
                     Value& best) const {
  Value value = least_after(first, second, to, edge, known_locality);
  if (!is_better(value, best)) return false;
  add_links(value, first, second, to, edge, locality_ + known_locality);
  if (!is_better(value, best)) return false;
  best = value;
  return true;
}

}  // namespace ondeloc::coordinated
