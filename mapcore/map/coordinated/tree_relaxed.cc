// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_relaxed.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ondeloc::coordinated {
namespace {

double price_of(const TreeTarget& target, const Part& part, int rank) {
  double price = target.cost_of_way(rank, part[rank]);
  for (const TreeEdge& edge : target.row(rank))
    price += target.cost(edge, part[rank], part[edge.peer]);
  return price;
}

// The weights of the times of the ranks, times per_rank: those of their prices.
std::vector<double> weights_of(const TreeTarget& target, const Part& part, double power) {
  std::vector<double> weights;
  for (int i = 0; i < target.ranks; ++i) weights.push_back(price_of(target, part, i));
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  // If no rank has a time, all weigh the same.
  for (double& weight : weights) sum += weight = most > 0 ? std::pow(weight / most, power) : 1;
  for (double& weight : weights) weight *= target.per_rank / sum;
  return weights;
}

void leave_loads_out(TreeTarget& target) {
  target.least_congestion = 0;
  for (auto* rates : {&target.per_node, &target.per_link, &target.per_port, &target.per_adapter})
    std::fill(rates->begin(), rates->end(), 0);
}

}  // namespace

TreeTarget relaxed_target(const TreeTarget& target, const Part& part, const Relaxation& how) {
  const std::vector<double> weights = weights_of(target, part, how.power);
  TreeTarget relaxed = target;
  relaxed.per_rank = 0;
  if (!how.with_loads) leave_loads_out(relaxed);
  for (int i = 0; i < target.ranks; ++i) {
    for (std::size_t e = target.begin[i]; e < target.begin[i + 1]; ++e) {
      TreeEdge& edge = relaxed.edges[e];
      const double factor = 1 + weights[i] + weights[edge.peer];
      edge.byte_work *= factor;
      edge.message_work *= factor;
    }
    for (int c = 0; !relaxed.way_cost.empty() && c < target.llcs; ++c)
      relaxed.way_cost[target.at(i, c)] *= 1 + weights[i];
  }
  return relaxed;
}

}  // namespace ondeloc::coordinated
