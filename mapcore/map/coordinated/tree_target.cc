// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_target.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ondeloc::coordinated {
namespace {

void add_edges(const MapRequest& request, TreeTarget& target) {
  const Traffic& traffic = *request.raw;
  const CostModel& model = request.model;
  const double of_byte = model.byte_weight(), of_message = model.message_bytes(target.ranks);
  const double byte_factor = model.byte_factor(target.ranks);
  const double message_factor = model.message_factor(target.ranks);
  target.begin.reserve(static_cast<std::size_t>(target.ranks) + 1);
  target.begin.push_back(0);
  target.edges.reserve(traffic.all_edges().size());
  for (int i = 0; i < target.ranks; ++i) {
    const auto edges = traffic.edges(i);
    const auto messages = traffic.messages(i);
    double strength = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const double amount = of_byte * edges[e].bytes + of_message * messages[e];
      strength += amount;
      target.edges.push_back(
          {edges[e].peer, amount, byte_factor * edges[e].bytes, message_factor * messages[e]});
    }
    const auto at = static_cast<std::size_t>(i);
    target.off_node.push_back(at < request.off_node.size() ? request.off_node[at] : 0);
    target.strength.push_back(strength + target.off_node.back());
    target.begin.push_back(target.edges.size());
  }
}

// The most slots that share one domain, less one.
template <class DomainOf>
double most_others(const SlotSet& slots, DomainOf domain_of) {
  std::vector<std::pair<int, int>> domains;
  domains.reserve(slots.size());
  for (const Slot& slot : slots)
    if (const auto domain = domain_of(slot.seat); domain.first >= 0) domains.push_back(domain);
  std::sort(domains.begin(), domains.end());
  std::size_t most = 0;
  for (std::size_t first = 0, at = 0; at < domains.size(); ++at) {
    if (domains[at] != domains[first]) first = at;
    most = std::max(most, at - first);
  }
  return static_cast<double>(most);
}

void add_nearer(const MapRequest& request, TreeTarget& target) {
  const CostModel& model = request.model;
  constexpr auto kLlc = static_cast<std::size_t>(Domain::kLlc);
  const auto add = [&](Domain domain, auto domain_of) {
    const auto at = static_cast<std::size_t>(domain);
    const double bytes = model.byte_cost_inside[at], messages = model.message_cost_inside[at];
    if (bytes == model.byte_cost_inside[kLlc] && messages == model.message_cost_inside[kLlc])
      return;
    const double others = most_others(request.slots, domain_of);
    if (others > 0) target.nearer.push_back({others, bytes, messages});
  };
  add(Domain::kCore, [](const Seat& seat) { return std::pair(seat.core, -1); });
  add(Domain::kL2, [](const Seat& seat) { return std::pair(seat.l2, seat.llc.value); });
}

// Returns the means of both directions, and in `differs` whether one differs from the other.
std::vector<double> symmetric(const std::vector<double>& costs, int n, bool& differs) {
  std::vector<double> means = costs;
  const auto at = [n](int c, int d) { return static_cast<std::size_t>(c) * n + d; };
  for (int c = 0; c < n; ++c) {
    for (int d = 0; d < n; ++d) {
      differs = differs || costs[at(c, d)] != costs[at(d, c)];
      means[at(c, d)] = (costs[at(c, d)] + costs[at(d, c)]) / 2;
    }
  }
  return means;
}

void add_costs(const CostModel& model, TreeTarget& target) {
  constexpr auto kInside = static_cast<std::size_t>(Domain::kLlc);
  bool differs = false;
  target.byte_cost = symmetric(model.byte_cost, target.llcs, differs);
  target.message_cost = symmetric(model.message_cost, target.llcs, differs);
  target.is_symmetric = !differs;
  for (int c = 0; c < target.llcs; ++c) {
    target.byte_cost[target.at(c, c)] = model.byte_cost_inside[kInside];
    target.message_cost[target.at(c, c)] = model.message_cost_inside[kInside];
  }
}

// True if all caches but these two cost as much to the one as to the other.
bool cost_alike(const TreeTarget& target, int a, int b) {
  for (int c = 0; c < target.llcs; ++c) {
    if (c == a || c == b) continue;
    if (target.byte_cost[target.at(a, c)] != target.byte_cost[target.at(b, c)] ||
        target.message_cost[target.at(a, c)] != target.message_cost[target.at(b, c)])
      return false;
  }
  return true;
}

void add_kinds(TreeTarget& target) {
  std::vector<int> firsts;  // the first cache of each kind
  for (int c = 0; c < target.llcs; ++c) {
    const auto first = std::find_if(firsts.begin(), firsts.end(),
                                    [&](int each) { return cost_alike(target, each, c); });
    target.kind_of.push_back(static_cast<int>(first - firsts.begin()));
    if (first == firsts.end()) firsts.push_back(c);
  }
  target.kinds = static_cast<int>(firsts.size());
  target.differing_from.push_back(0);
  for (int k = 0; k < target.kinds; ++k) {
    for (int l = 0; l < target.kinds; ++l) {
      const std::size_t a = target.at(firsts[k], 0), b = target.at(firsts[l], 0);
      for (std::size_t c = 0; k != l && c < target.kind_of.size(); ++c) {
        // The caches of the two kinds differ from each other in their cost to themselves.
        if (target.kind_of[c] == k || target.kind_of[c] == l ||
            target.byte_cost[a + c] != target.byte_cost[b + c] ||
            target.message_cost[a + c] != target.message_cost[b + c])
          target.differing.push_back(static_cast<int>(c));
      }
      target.differing_from.push_back(target.differing.size());
    }
  }
}

void add_sides(TreeTarget& target) {
  const auto nodes = static_cast<std::size_t>(target.nodes);
  target.side.assign(static_cast<std::size_t>(target.links) * nodes, -1);
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = 0; b < nodes; ++b) {
      if (a == b) continue;
      int& side = target.side[static_cast<std::size_t>(target.link_of[a * nodes + b]) * nodes + a];
      if (side < 0) side = static_cast<int>(b);
    }
  }
}

void add_ways(const MapRequest& request, TreeTarget& target) {
  const CostModel& model = request.model;
  if (!model.adapters.count(request.off_node)) return;
  const double byte_factor = model.byte_factor(target.ranks);
  for (int i = 0; i < target.ranks; ++i) {
    const double bytes = target.off_node[i];
    for (int c = 0; c < target.llcs; ++c) {
      const int home = model.adapters.home_of(i, target.node_of[c]);
      target.way_cost.push_back(bytes * byte_factor * model.byte_cost_to_node(LlcIndex(c), home));
    }
    for (int k = 0; k < target.nodes; ++k) {
      const int home = model.adapters.home_of(i, k);
      target.way_link.push_back(target.link_of[k * target.nodes + home]);
      target.way_pool.push_back(model.adapters.pool_of(i, k));
    }
  }
  for (const AdapterPool& pool : model.adapters.pools)
    target.per_adapter.push_back(1 / pool.bandwidth);
}

}  // namespace

TreeTarget::TreeTarget(const MapRequest& request)
    : ranks(request.raw->ranks()),
      llcs(request.model.llcs),
      nodes(request.model.nodes),
      links(static_cast<int>(request.model.link_capacity.size())),
      capacity(static_cast<std::size_t>(llcs)),
      node_of(request.model.node_of_llc),
      link_of(request.model.link_of),
      has_ports(!request.model.port.empty()) {
  package_of.assign(capacity.size(), -1);
  for (const Slot& slot : request.slots) {
    ++capacity[slot.seat.llc.value];
    package_of[slot.seat.llc.value] = slot.seat.package;
  }
  double usable = 0, all = 0;
  for (int k = 0; k < nodes; ++k) {
    per_node.push_back(1 / request.model.bandwidth[k]);
    bool is_usable = false;
    for (int c = 0; c < llcs; ++c) is_usable = is_usable || (node_of[c] == k && capacity[c] > 0);
    if (is_usable) usable += request.model.bandwidth[k];
  }
  for (const double rate : request.model.link_capacity) per_link.push_back(1 / rate);
  for (const double rate : request.model.port) per_port.push_back(1 / rate);
  per_port.resize(static_cast<std::size_t>(llcs), 0);
  if (request.model.knows_ranks) per_rank = ranks;
  add_sides(*this);
  add_edges(request, *this);
  add_costs(request.model, *this);
  add_nearer(request, *this);
  add_kinds(*this);
  add_ways(request, *this);
  for (const double each : strength) all += each;
  least_congestion = usable > 0 ? all / usable : 0;
}

}  // namespace ondeloc::coordinated
