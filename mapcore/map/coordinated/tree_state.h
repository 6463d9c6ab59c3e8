// SPDX-License-Identifier: Apache-2.0
// A partition of the ranks over the last-level caches of a machine. The state keeps incrementally
// all numbers that a move changes: for every rank the cost of its edges in each cache and its
// amount with each cache, and the load of every memory, link and port. The numbers are those of
// evaluate(), except that ranks save nothing by sharing a core or an L2. The time of one move grows
// with the degree of the rank times the number of caches that the move brings nearer or farther.
// Thread safety: none.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "mapcore/map/coordinated/busy_ranks.h"
#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/state.h"
#include "mapcore/map/coordinated/tree_target.h"
#include "mapcore/map/coordinated/tree_valuation.h"

namespace ondeloc::coordinated {

class TreeState {
 public:
  explicit TreeState(const TreeTarget& target);
  // REQUIRES: part[i] in range, no cache above its capacity.
  void reset(const Part& part);

  const TreeTarget& target() const { return target_; }
  const Part& part() const { return part_; }
  const std::vector<int>& members(int llc) const { return members_[llc]; }
  int free_slots(int llc) const {
    return target_.capacity[llc] - static_cast<int>(members_[llc].size());
  }
  // The cost in seconds; the sum of squared loads orders values of equal cost. `remote` is 0.
  const Value& value() const { return value_; }

  // The cost of the rank's edges if the rank is in that cache and all other ranks stay.
  double price(int rank, int llc) const { return price_[target_.at(rank, llc)]; }
  // Returns the value after the rank moves to `to`, in exchange for `partner` (-1: alone). `edge`
  // is the edge between the two ranks (nullptr: none). The state does not change.
  // If the cost is above `limit`, any cost above it may be returned.
  Value value_after(int rank, int partner, int to, const TreeEdge* edge,
                    double limit = std::numeric_limits<double>::infinity()) const;
  // A lower bound of value_after(), in constant time. The bound is exact if the rank stays in its
  // node and the model does not know the times of ranks. Else only the fullest link counts, and the
  // busiest ranks. Nearly all candidates are rejected by this bound. A bound whose cost is above
  // `limit` may be found earlier.
  Value least_after(int rank, int partner, int to, const TreeEdge* edge, double limit) const;
  void move(int rank, int to);
  void swap(int rank, int partner);

  // The time of the fullest resource that moves between the caches `a` and `b` leave as it is.
  double kept_congestion(int a, int b) const {
    const int m = target_.node_of[a], n = target_.node_of[b];
    double floor = kept_outside_;
    if (m != n) {
      floor = std::max(target_.least_congestion, fullest_nodes_.without(m, n));
      if (keeps_fullest_link(m, n)) floor = std::max(floor, fullest_link_);
    }
    return target_.has_ports ? std::max(floor, fullest_ports_.without(a, b)) : floor;
  }
  // Returns the most by which the cost, without the locality, falls at equal or higher locality if
  // a resource and a rank keep these times.
  double relief(double congestion, double busiest) const {
    return beside_locality() - congestion - std::max(busiest, mean_time(locality_));
  }
  const BusyRanks& busy() const { return busy_; }

 private:
  // The fullest resources of a kind, in seconds: the largest that a move between two others leaves
  // as it is.
  struct Fullest {
    int which[3] = {-1, -1, -1};
    double seconds[3] = {0, 0, 0};
    void add(int index, double load);
    double without(int a, int b) const {
      for (int place = 0; place < 3; ++place)
        if (which[place] != a && which[place] != b) return seconds[place];
      return 0;
    }
  };
  double beside_locality() const { return congestion_ + busy_.most(); }
  // The mean time of all ranks with that locality; with ways to adapters, a lower bound of it.
  double mean_time(double locality) const {
    return busy_.counts() ? (target_.way_cost.empty() ? 2 : 1) * locality : 0;
  }
  double locality_after(int rank, int partner, int to, const TreeEdge* edge) const;
  double least_busiest_after(int rank, int partner, int to, const TreeEdge* edge) const;
  double busiest_after(int rank, int partner, int to, const TreeEdge* edge, double limit) const;
  // The prices of the two ranks after the exchange.
  struct OwnPrices {
    double mine, theirs;
  };
  OwnPrices own_prices_after(int rank, int partner, int to, const TreeEdge* edge) const;
  // The congestion after the move, as exact as least_after(). Sets the squares. A congestion above
  // `limit` may be too small.
  double congestion_after(int rank, int partner, int to, double amount, double limit,
                          double& squares) const;
  // True if the link that is the fullest now keeps its load when ranks move between the nodes.
  bool keeps_fullest_link(int m, int n) const {
    return target_.links > 0 && target_.way_cost.empty() &&
           target_.load_alike(fullest_link_index_, m, n);
  }
  void add_prices(int rank, double* price, double* amount);
  void shift(int rank, int to);
  void add_links_of(int rank, int node, double sign, std::vector<double>& link) const;
  double fullest_link_after(int rank, int partner, int to, double edge_amount) const;
  void change_loads(int rank, int partner, int to, double edge_amount, TreeLoads& loads) const;
  // `others` are the seconds of the other terms of the cost.
  Value value_of(const TreeLoads& loads, double others) const;
  void refresh();
  double amount_to_node(int rank, int node) const {
    return by_node_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(target_.nodes) +
                    static_cast<std::size_t>(node)];
  }

  const TreeTarget& target_;
  Part part_;
  std::vector<std::vector<int>> members_;
  std::vector<std::size_t> position_;  // index of each rank among the members of its cache
  std::vector<double> price_;          // ranks x llcs
  std::vector<double> amount_;         // ranks x llcs
  std::vector<double> by_node_;        // ranks x nodes
  TreeLoads loads_;
  mutable TreeLoads scratch_;
  struct Work {
    double bytes = 0, messages = 0;
  };
  std::vector<Work> work_;  // of one rank with each cache
  double locality_ = 0;
  double congestion_ = 0;
  Fullest fullest_nodes_, fullest_ports_;
  BusyRanks busy_;
  double fullest_link_ = 0, fullest_adapter_ = 0;
  double kept_outside_ = 0;  // the fullest of nodes, links, and adapters
  int fullest_link_index_ = 0;
  Value value_;
};

}  // namespace ondeloc::coordinated
