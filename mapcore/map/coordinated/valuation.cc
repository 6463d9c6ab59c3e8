// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/valuation.h"

#include <algorithm>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

void add_loads(const Graph& graph, std::size_t nodes, std::span<const int> part, Scratch& sums) {
  sums.load.assign(nodes, 0);
  for (std::size_t i = 0; i < part.size(); ++i) sums.load[part[i]] += graph.strength[i];
}

// Calls visit(rank, edge) once for every pair of a vertex from `first` to `last` - 1 and a later
// vertex.
template <class Visit>
void for_each_pair(const Graph& graph, int first, int last, Visit visit) {
  for (int i = first; i < last; ++i) {
    const auto row = graph.row(i);
    for (auto edge = row.rbegin(); edge != row.rend() && edge->peer > i; ++edge) visit(i, *edge);
  }
}

// Adds the bytes of every pair once to the link k-l, in either [k][l] or [l][k].
void add_links(const Graph& graph, std::size_t nodes, std::span<const int> part, int first,
               int last, Scratch& sums) {
  double* links = sums.link.data();
  for_each_pair(graph, first, last, [&](int i, const Traffic::Edge& edge) {
    const auto here = static_cast<std::size_t>(part[i]);
    const auto there = static_cast<std::size_t>(part[edge.peer]);
    links[here * nodes + there] += edge.bytes;
  });
}

// Computes the value from the links added up so far. If the loads are complete, the result is a
// lower bound of the value.
Value value_so_far(const Target& target, const Scratch& sums) {
  const auto n = static_cast<std::size_t>(target.nodes);
  Value value;
  double most = 0, locality = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double load = sums.load[k] * target.per_byte[k];
    value.squares += load * load;
    most = std::max(most, load);
    for (std::size_t l = k + 1; l < n; ++l) {
      const double bytes = sums.link[k * n + l] + sums.link[l * n + k];
      value.remote += bytes * target.unit;
      locality += bytes * target.penalty[k * n + l];
      most = std::max(most, bytes * target.link_per_byte[k * n + l]);
    }
  }
  value.cost = most + locality;
  return value;
}

double least_remote(std::span<const Row> rows, const Target& target) {
  const int largest = *std::max_element(target.capacity.begin(), target.capacity.end());
  double twice = 0;
  for (const Row& row : rows) twice += std::max(0.0, row.bytes - (largest - 1) * row.most);
  return twice / 2;
}

// The nodes of one vertex in all partitions, side by side, and the sums for all partitions.
// Compilers do not turn this loop into vector instructions by themselves.
using Places = int __attribute__((vector_size(kAtOnce * sizeof(int))));
using Sums = float __attribute__((vector_size(kAtOnce * sizeof(float))));

std::vector<Places> side_by_side(const std::array<Part, kAtOnce>& parts) {
  std::vector<Places> places(parts.front().size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t p = 0; p < kAtOnce; ++p) places[i][p] = parts[p][i];
  }
  return places;
}

double least_penalty(const Target& target) {
  const auto n = static_cast<std::size_t>(target.nodes);
  double penalty = target.penalty[1];
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) penalty = std::min(penalty, target.penalty[k * n + l]);
  }
  return penalty;
}

}  // namespace

Value value_of(const Graph& graph, const Target& target, std::span<const int> part,
               Scratch& scratch, double limit) {
  const auto n = static_cast<std::size_t>(target.nodes);
  scratch.link.assign(n * n, 0);
  add_loads(graph, n, part, scratch);
  Value value = value_so_far(target, scratch);
  for (int look = 0; look < tuning::kValueParts && !is_less(limit, value.cost); ++look) {
    add_links(graph, n, part, graph.vertices * look / tuning::kValueParts,
              graph.vertices * (look + 1) / tuning::kValueParts, scratch);
    value = value_so_far(target, scratch);
  }
  return value;
}

double least_cost(std::span<const Row> rows, const Target& target) {
  const double remote = least_remote(rows, target);
  const auto n = static_cast<std::size_t>(target.nodes);
  double links = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) links += 1 / target.link_per_byte[k * n + l];
  }
  return std::max(target.mean_load, remote / links) + remote * least_penalty(target);
}

std::array<double, kAtOnce> least_costs(const Graph& graph, const Target& target,
                                        const std::array<Part, kAtOnce>& parts) {
  constexpr double kAdditionError = 6e-8;  // relative error of one addition
  const std::vector<Places> places = side_by_side(parts);
  const Sums none = {};
  Sums remote = none;
  for_each_pair(graph, 0, graph.vertices, [&](int i, const Traffic::Edge& edge) {
    const Places here = places[i];
    const Places there = places[edge.peer];
    const Sums bytes = none + static_cast<float>(edge.bytes * target.unit);
    remote += here != there ? bytes : none;
  });
  const double exact = 1 - kAdditionError * static_cast<double>(graph.edges.size());
  const double penalty = least_penalty(target) / target.unit * exact;
  std::array<double, kAtOnce> costs{};
  for (std::size_t p = 0; p < kAtOnce; ++p)
    costs[p] = target.mean_load + static_cast<double>(remote[p]) * penalty;
  return costs;
}

}  // namespace ondeloc::coordinated
