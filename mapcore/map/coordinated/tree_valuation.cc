// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_valuation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {
namespace {

// The locality, and the time of the busiest rank.
struct Times {
  double locality = 0, busiest = 0;
};

Times times_of(const TreeTarget& target, const Part& part) {
  Times times;
  for (int i = 0; i < target.ranks; ++i) {
    double edges = 0;
    const std::size_t row = target.at(part[i], 0);
    for (const TreeEdge& edge : target.row(i)) {
      const std::size_t pair = row + static_cast<std::size_t>(part[edge.peer]);
      edges +=
          edge.byte_work * target.byte_cost[pair] + edge.message_work * target.message_cost[pair];
    }
    const double way = target.cost_of_way(i, part[i]);
    times.locality += way + edges / 2;
    times.busiest = std::max(times.busiest, target.per_rank * (way + edges));
  }
  return times;
}

double fullest(const std::vector<double>& loads, const std::vector<double>& per) {
  double most = 0;
  for (std::size_t at = 0; at < loads.size(); ++at) most = std::max(most, loads[at] * per[at]);
  return most;
}

void add_loads(const TreeTarget& target, const Part& part, TreeLoads& sums) {
  sums.clear(target);
  for (int i = 0; i < target.ranks; ++i) {
    const int own = part[i], node = target.node_of[own];
    sums.node[node] += target.strength[i];
    sums.port[own] += target.off_node[i];
    sums.add_way(target, i, node, 1);
    for (const TreeEdge& edge : target.row(i)) {
      const int other = part[edge.peer];
      if (other == own) continue;
      sums.port[own] += edge.amount;
      if (edge.peer <= i || target.node_of[other] == node) continue;
      sums.link[target.link_between(node, target.node_of[other])] += edge.amount;
    }
  }
}

// A cache as a rank in it sees the machine: the other slots of each cache, cheapest first.
struct View {
  struct Ring {
    double slots, cost;
    bool operator==(const Ring&) const = default;
  };
  std::vector<Ring> bytes, messages;
  bool operator==(const View&) const = default;
};

using NearerCost = double TreeTarget::Nearer::*;

// The other slots of the rank's own cache. A slot may have fewer nearer slots than another one, so
// that these rings may cost less than any slot sees, never more.
void add_own_rings(const TreeTarget& target, double slots, double cost, NearerCost nearer_cost,
                   std::vector<View::Ring>& rings) {
  double taken = 0, least = cost;
  for (const TreeTarget::Nearer& each : target.nearer) least = std::min(least, each.*nearer_cost);
  for (const TreeTarget::Nearer& each : target.nearer) {
    const double more = std::min(each.others, slots) - taken;
    if (more <= 0) continue;
    rings.push_back({more, taken == 0 ? least : std::min(cost, each.*nearer_cost)});
    taken += more;
  }
  if (slots > taken) rings.push_back({slots - taken, cost});
}

std::vector<View::Ring> rings_of(const TreeTarget& target, int llc,
                                 const std::vector<double>& costs, NearerCost nearer_cost) {
  std::vector<View::Ring> rings;
  for (int c = 0; c < target.llcs; ++c) {
    const double cost = costs[target.at(llc, c)];
    if (c == llc) {
      add_own_rings(target, target.capacity[c] - 1, cost, nearer_cost, rings);
    } else if (target.capacity[c] > 0) {
      rings.push_back({static_cast<double>(target.capacity[c]), cost});
    }
  }
  std::stable_sort(rings.begin(), rings.end(),
                   [](const auto& a, const auto& b) { return a.cost < b.cost; });
  std::vector<View::Ring> merged;
  for (const View::Ring& ring : rings) {
    if (!merged.empty() && merged.back().cost == ring.cost) {
      merged.back().slots += ring.slots;
    } else {
      merged.push_back(ring);
    }
  }
  return merged;
}

std::vector<View> views_of(const TreeTarget& target) {
  std::vector<View> views;
  for (int c = 0; c < target.llcs; ++c) {
    if (target.capacity[c] == 0) continue;
    View view{rings_of(target, c, target.byte_cost, &TreeTarget::Nearer::byte_cost),
              rings_of(target, c, target.message_cost, &TreeTarget::Nearer::message_cost)};
    if (std::find(views.begin(), views.end(), view) == views.end())
      views.push_back(std::move(view));
  }
  return views;
}

// The least cost of `all` units of work, of which at most `most` go to one slot.
double fill_rings(const std::vector<View::Ring>& rings, double all, double most) {
  double cost = 0;
  for (const View::Ring& ring : rings) {
    const double share = std::min(all, ring.slots * most);
    cost += share * ring.cost;
    all -= share;
  }
  return cost;
}

// Sum and maximum of the edges of a rank.
struct Work {
  double all = 0, most = 0;
  void add(double each) {
    all += each;
    most = std::max(most, each);
  }
};

// The resources that the amounts between domains of one kind load: the amount that crosses, and the
// bandwidth of all resources together. A domain is a cache, a NUMA node or a package.
class Crossing {
 public:
  Crossing(const TreeTarget& target, const std::vector<int>& domain_of) {
    std::map<int, int> slots;
    for (int c = 0; c < target.llcs; ++c)
      if (target.capacity[c] > 0)
        largest_ = std::max(largest_, slots[domain_of[c]] += target.capacity[c]);
    std::set<int> links;
    for (int c = 0; c < target.llcs; ++c) {
      for (int d = 0; target.capacity[c] > 0 && d < target.llcs; ++d) {
        if (target.capacity[d] == 0 || domain_of[c] == domain_of[d]) continue;
        if (!target.is_one_node(c, d))
          links.insert(target.link_between(target.node_of[c], target.node_of[d]));
      }
    }
    for (const int link : links) rate_ += 1 / target.per_link[link];
  }
  // Takes the ports of the caches instead of links. Each amount loads two ports.
  void use_ports(const TreeTarget& target) {
    rate_ = 0;
    ends_ = 1;
    for (int c = 0; target.has_ports && c < target.llcs; ++c)
      if (target.capacity[c] > 0) rate_ += 1 / target.per_port[c];
  }
  void add(const Work& amounts, double off_node) {
    crossing_ += std::max(0.0, amounts.all - (largest_ - 1) * amounts.most);
    if (ends_ == 1) crossing_ += off_node;
  }
  double seconds() const { return rate_ > 0 ? crossing_ / ends_ / rate_ : 0; }

 private:
  int largest_ = 0;
  int ends_ = 2;  // each amount is in the rows of two ranks
  double crossing_ = 0, rate_ = 0;
};

}  // namespace

void TreeLoads::clear(const TreeTarget& target) {
  node.assign(target.per_node.size(), 0);
  link.assign(target.per_link.size(), 0);
  port.assign(target.per_port.size(), 0);
  adapter.assign(target.per_adapter.size(), 0);
}

double TreeLoads::congestion(const TreeTarget& target) const {
  return std::max({fullest(node, target.per_node), fullest(link, target.per_link),
                   fullest(port, target.per_port), fullest(adapter, target.per_adapter)});
}

double tree_cost(const TreeTarget& target, const Part& part, double limit, TreeLoads& scratch) {
  const auto [locality, busiest] = times_of(target, part);
  const double least = locality + busiest + target.least_congestion;
  if (is_less(limit, least)) return least;
  add_loads(target, part, scratch);
  return locality + busiest + scratch.congestion(target);
}

std::vector<double> least_prices(const TreeTarget& target) {
  const std::vector<View> views = views_of(target);
  std::vector<double> prices;
  for (int i = 0; i < target.ranks; ++i) {
    Work bytes, messages;
    for (const TreeEdge& edge : target.row(i)) {
      bytes.add(edge.byte_work);
      messages.add(edge.message_work);
    }
    double least = std::numeric_limits<double>::infinity();
    for (const View& view : views)
      least = std::min(least, fill_rings(view.bytes, bytes.all, bytes.most) +
                                  fill_rings(view.messages, messages.all, messages.most));
    prices.push_back(least);
  }
  return prices;
}

double least_tree_cost(const TreeTarget& target) {
  if (!target.is_symmetric) return 0;
  std::vector<int> llcs(target.capacity.size());
  std::iota(llcs.begin(), llcs.end(), 0);
  std::array crossings = {Crossing(target, llcs), Crossing(target, target.node_of),
                          Crossing(target, target.package_of)};
  crossings[0].use_ports(target);
  for (int i = 0; i < target.ranks; ++i) {
    Work amounts;
    for (const TreeEdge& edge : target.row(i)) amounts.add(edge.amount);
    for (Crossing& each : crossings) each.add(amounts, target.off_node[i]);
  }
  double congestion = target.least_congestion, twice = 0, most = 0;
  for (const Crossing& each : crossings) congestion = std::max(congestion, each.seconds());
  for (const double price : least_prices(target)) {
    twice += price;
    most = std::max(most, price);
  }
  return twice / 2 + target.per_rank * most + congestion;
}

}  // namespace ondeloc::coordinated
