// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kMostUnit = 900;  // largest exponent of the unit, a power of two

}  // namespace

double heavy_strength(std::span<const double> strength) {
  if (strength.empty()) return 0;
  std::vector<double> sorted(strength.begin(), strength.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return tuning::kHeavyStrength * *middle;
}

std::vector<Row> rows_of(const Graph& graph) {
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(graph.vertices));
  for (int i = 0; i < graph.vertices; ++i) {
    Row row;
    for (const Traffic::Edge& edge : graph.row(i)) {
      row.bytes += edge.bytes;
      row.heaviest = edge.bytes > row.most ? edge.peer : row.heaviest;
      row.most = edge.bytes > row.most ? edge.bytes : row.most;
    }
    rows.push_back(row);
  }
  return rows;
}

bool is_uniform(std::span<const double> square, std::size_t n) {
  for (std::size_t at = 0; at < square.size(); ++at) {
    if (at / n != at % n && square[at] != square[1]) return false;
  }
  return true;
}

std::vector<int> usable_nodes(const Target& target) {
  std::vector<int> nodes;
  for (int k = 0; k < target.nodes; ++k) {
    if (target.capacity[k] > 0) nodes.push_back(k);
  }
  return nodes;
}

Target Target::from(const MapRequest& request, std::span<const double> strength) {
  const CostModel& model = request.model;
  const auto n = static_cast<std::size_t>(model.nodes);
  const int ranks = request.traffic.ranks();
  const double bandwidth = std::accumulate(model.bandwidth.begin(), model.bandwidth.end(), 0.0);
  const double all = std::accumulate(strength.begin(), strength.end(), 0.0);
  // Two factors keep the numbers near 1. A power of two scales bytes exactly, and the sum of
  // bandwidths scales bandwidths. The exponent is limited to leave room for the quotient of the
  // factors.
  const double unit = all > 0 ? std::exp2(std::min(-std::ilogb(all), kMostUnit)) : 1;
  Target target;
  target.nodes = model.nodes;
  target.unit = unit;
  target.capacity.assign(n, 0);
  for (const Slot& slot : request.slots) ++target.capacity[slot.node.value];
  for (std::size_t k = 0; k < n; ++k) {
    target.per_byte.push_back(unit * (bandwidth / model.bandwidth[k]));
    for (std::size_t l = 0; l < n; ++l) {
      target.link_per_byte.push_back(k == l ? 0 : unit * (bandwidth / model.link[k * n + l]));
      const double cost =
          k == l ? 0 : model.amount_cost(static_cast<int>(k), static_cast<int>(l), ranks);
      target.penalty.push_back(unit * (bandwidth * cost));
    }
  }
  target.uniform_penalty = is_uniform(target.penalty, n);
  // For a given sum of M, the loads M_k per_byte_k have the least squares if M_k ~ 1 /
  // per_byte_k^2.
  double usable_bandwidth = 0, sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (target.capacity[k] == 0) continue;
    if (target.usable++ == 0 || target.capacity[k] < target.smallest)
      target.smallest = target.capacity[k];
    usable_bandwidth += model.bandwidth[k];
    sum += (unit / target.per_byte[k]) * (unit / target.per_byte[k]);
  }
  const double share = usable_bandwidth / bandwidth;
  target.mean_load = unit * all / share;
  target.least_squares = share * share / sum;
  return target;
}

}  // namespace ondeloc::coordinated
