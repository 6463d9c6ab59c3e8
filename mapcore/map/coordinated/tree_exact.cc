// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_exact.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "mapcore/map/coordinated/state.h"
#include "mapcore/map/coordinated/tree_alike.h"
#include "mapcore/map/coordinated/tree_valuation.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kNowhere = -1;

// Seconds of a unit of work.
struct Rates {
  double byte = std::numeric_limits<double>::infinity();
  double message = std::numeric_limits<double>::infinity();
  double of(const TreeEdge& edge) const {
    return edge.byte_work * byte + edge.message_work * message;
  }
  void lower(const TreeTarget& target, int c, int d) {
    byte = std::min(byte, target.byte_cost[target.at(c, d)]);
    message = std::min(message, target.message_cost[target.at(c, d)]);
  }
};

class BranchAndBound {
 public:
  BranchAndBound(const TreeTarget& target, const Part& start, std::int64_t work)
      : target_(target),
        start_(start),
        work_(work),
        alike_(target),
        least_price_(least_prices(target)),
        room_(target.capacity),
        ranks_in_node_(static_cast<std::size_t>(target.nodes), 0),
        part_(start.size(), kNowhere),
        levels_(start.size() + 1) {
    find_rates();
    levels_[0] = empty_level();
    TreeLoads scratch;
    result_ = {start};
    cost_ = tree_cost(target, start, std::numeric_limits<double>::infinity(), scratch);
    choose_order();
  }

  Cheapest run() {
    give_caches_from(0, cost_);
    result_.is_proven = work_ > 0;
    return std::move(result_);
  }

 private:
  // The sums of the ranks that have caches. Every other edge is at its least cost.
  struct Level {
    TreeLoads loads;
    std::vector<double> price;  // of each rank: seconds of its edges and of its way
    double ways = 0;            // seconds
  };

  void find_rates() {
    outside_.resize(target_.capacity.size());
    for (int c = 0; c < target_.llcs; ++c) {
      for (int d = 0; d < target_.llcs; ++d) {
        if (target_.capacity[d] <= (c == d ? 1 : 0)) continue;
        if (target_.capacity[c] > 0) least_.lower(target_, c, d);
        if (c != d) outside_[c].lower(target_, c, d);
      }
    }
  }

  Level empty_level() const {
    Level level;
    level.loads.clear(target_);
    for (int i = 0; i < target_.ranks; ++i) {
      double price = 0;
      for (const TreeEdge& edge : target_.row(i)) price += least_.of(edge);
      level.price.push_back(price);
    }
    return level;
  }

  // The least cost of an edge between a rank in that cache and a rank without a cache.
  double least_of(const TreeEdge& edge, int llc) const {
    return room_[llc] > 0 ? least_.of(edge) : outside_[llc].of(edge);
  }

  // The next rank is the one with the largest amount with those before it, so that bounds are tight
  // early. The first one has the largest amount at all.
  void choose_order() {
    std::vector<double> amount = target_.strength;
    std::vector<char> is_chosen(start_.size(), 0);
    while (order_.size() < start_.size()) {
      int next = kNowhere;
      for (int i = 0; i < target_.ranks; ++i)
        if (is_chosen[i] == 0 && (next < 0 || amount[i] > amount[next])) next = i;
      if (order_.empty()) amount.assign(amount.size(), 0);
      for (const TreeEdge& edge : target_.row(next)) amount[edge.peer] += edge.amount;
      is_chosen[next] = 1;
      order_.push_back(next);
    }
  }

  // `bound` is that of the ranks before, or the cost if they are all.
  void give_caches_from(std::size_t depth, double bound) {
    if (depth == order_.size()) return keep(bound);
    const int rank = order_[depth];
    std::vector<int> tried;
    const auto attempt = [&](int llc) {
      const int kind = kind_of(llc);
      if (room_[llc] == 0 || std::find(tried.begin(), tried.end(), kind) != tried.end()) return;
      if (--work_ <= 0) return;
      tried.push_back(kind);
      const double least = give(depth, rank, llc);
      if (!is_less(least, cost_)) return;
      take(rank, llc);
      give_caches_from(depth + 1, least);
      put_back(rank, llc);
    };
    attempt(start_[rank]);
    for (int llc = 0; llc < target_.llcs; ++llc)
      if (llc != start_[rank]) attempt(llc);
  }

  // Equal for caches of which only one needs to be tried. Caches that hold ranks differ from all.
  int kind_of(int llc) const {
    if (room_[llc] < target_.capacity[llc]) return llc;
    if (ranks_in_node_[target_.node_of[llc]] > 0) return target_.llcs + alike_.in_node(llc);
    return 2 * target_.llcs + alike_.anywhere(llc);
  }

  void take(int rank, int llc) {
    part_[rank] = llc;
    --room_[llc];
    ++ranks_in_node_[target_.node_of[llc]];
  }
  void put_back(int rank, int llc) {
    part_[rank] = kNowhere;
    ++room_[llc];
    --ranks_in_node_[target_.node_of[llc]];
  }

  // Sets the level after this one to the sums with the rank in that cache. Returns their bound.
  double give(std::size_t depth, int rank, int llc) {
    Level& level = levels_[depth + 1];
    level = levels_[depth];
    const int node = target_.node_of[llc];
    level.loads.node[node] += target_.strength[rank];
    level.loads.port[llc] += target_.off_node[rank];
    level.loads.add_way(target_, rank, node, 1);
    const double way = target_.cost_of_way(rank, llc);
    level.price[rank] += way;
    level.ways += way;
    for (const TreeEdge& edge : target_.row(rank)) {
      const int there = part_[edge.peer];
      if (there == kNowhere) continue;
      add(rank, edge, target_.cost(edge, llc, there) - least_of(edge, there), level);
      if (there == llc) continue;
      level.loads.port[llc] += edge.amount;
      level.loads.port[there] += edge.amount;
      if (const int other = target_.node_of[there]; other != node)
        level.loads.link[target_.link_between(node, other)] += edge.amount;
    }
    if (room_[llc] == 1) leave_out(rank, llc, level);
    return bound_of(level);
  }

  // All other peers of ranks in that cache will be outside: the rank takes the last slot.
  void leave_out(int rank, int llc, Level& level) const {
    const auto raise = [&](int member) {
      for (const TreeEdge& edge : target_.row(member)) {
        if (edge.peer == rank || part_[edge.peer] != kNowhere) continue;
        add(member, edge, outside_[llc].of(edge) - least_.of(edge), level);
      }
    };
    raise(rank);
    for (int i = 0; i < target_.ranks; ++i)
      if (part_[i] == llc) raise(i);
  }

  static void add(int rank, const TreeEdge& edge, double seconds, Level& level) {
    level.price[rank] += seconds;
    level.price[edge.peer] += seconds;
  }

  double bound_of(const Level& level) const {
    double most = 0, sum = level.ways;
    for (std::size_t i = 0; i < level.price.size(); ++i) {
      const double price = std::max(level.price[i], least_price_[i]);
      sum += price;
      most = std::max(most, price);
    }
    const double congestion = std::max(target_.least_congestion, level.loads.congestion(target_));
    return congestion + target_.per_rank * most + sum / 2;
  }

  void keep(double cost) {
    cost_ = cost;
    result_.part = part_;
  }

  const TreeTarget& target_;
  const Part& start_;
  std::int64_t work_;
  AlikeCaches alike_;
  Rates least_;                 // between two slots
  std::vector<Rates> outside_;  // between a slot of each cache and one of another cache
  std::vector<double> least_price_;
  std::vector<int> room_, ranks_in_node_, order_;
  Part part_;
  std::vector<Level> levels_;
  Cheapest result_;
  double cost_ = 0;
};

}  // namespace

Cheapest cheapest_part(const TreeTarget& target, const Part& start, std::int64_t work) {
  return BranchAndBound(target, start, work).run();
}

}  // namespace ondeloc::coordinated
