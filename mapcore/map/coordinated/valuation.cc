// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/valuation.h"

#include <algorithm>

namespace ondeloc::coordinated {
namespace {

// Loads, and links k-l with the bytes of every pair once, in whichever of [k][l] and [l][k].
void add_up(const Graph& graph, std::size_t nodes, std::span<const int> part, Scratch& sums) {
  sums.load.assign(nodes, 0);
  sums.link.assign(nodes * nodes, 0);
  for (int i = 0; i < graph.vertices; ++i) {
    const auto k = static_cast<std::size_t>(part[static_cast<std::size_t>(i)]);
    sums.load[k] += graph.strength[static_cast<std::size_t>(i)];
    double* links = &sums.link[k * nodes];
    const auto row = graph.row(i);
    for (auto edge = row.rbegin(); edge != row.rend() && edge->peer > i; ++edge)
      links[part[static_cast<std::size_t>(edge->peer)]] += edge->bytes;
  }
}

struct RowSums {
  double bytes = 0, most = 0;
};

RowSums sum_of(std::span<const Traffic::Edge> row) {
  RowSums sums;
  for (const Traffic::Edge& edge : row) {
    sums.bytes += edge.bytes;
    sums.most = std::max(sums.most, edge.bytes);
  }
  return sums;
}

double least_remote(const Graph& graph, const Target& target) {
  const int largest = *std::max_element(target.capacity.begin(), target.capacity.end());
  double twice = 0;
  for (int i = 0; i < graph.vertices; ++i) {
    const RowSums row = sum_of(graph.row(i));
    twice += std::max(0.0, row.bytes - (largest - 1) * row.most);
  }
  return twice / 2;
}

}  // namespace

Value value_of(const Graph& graph, const Target& target, std::span<const int> part,
               Scratch& scratch) {
  const auto n = static_cast<std::size_t>(target.nodes);
  add_up(graph, n, part, scratch);
  Value value;
  double most = 0, locality = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double load = scratch.load[k] * target.per_byte[k];
    value.squares += load * load;
    most = std::max(most, load);
    for (std::size_t l = k + 1; l < n; ++l) {
      const double bytes = scratch.link[k * n + l] + scratch.link[l * n + k];
      value.remote += bytes;
      locality += bytes * target.penalty[k * n + l];
      most = std::max(most, bytes * target.link_per_byte[k * n + l]);
    }
  }
  value.cost = most + locality;
  return value;
}

double least_cost(const Graph& graph, const Target& target) {
  const double remote = least_remote(graph, target);
  const auto n = static_cast<std::size_t>(target.nodes);
  double penalty = target.penalty[1], links = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) {
      penalty = std::min(penalty, target.penalty[k * n + l]);
      links += 1 / target.link_per_byte[k * n + l];
    }
  }
  return std::max(target.mean_load, remote / links) + remote * penalty;
}

}  // namespace ondeloc::coordinated
