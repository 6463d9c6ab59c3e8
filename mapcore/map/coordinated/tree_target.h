// SPDX-License-Identifier: Apache-2.0
// The cost model in the form that the search over last-level caches needs: every factor in the unit
// of the cost, and the edges with their amounts and times. Thread safety: values.
#pragma once

#include <span>
#include <vector>

#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

struct TreeEdge {
  int peer;
  double amount;     // loads are sums of amounts
  double byte_work;  // times byte_cost: seconds
  double message_work;
};

// REQUIRES: request.traffic holds the amounts of the traffic request.raw.
struct TreeTarget {
  explicit TreeTarget(const MapRequest& request);

  int ranks = 0, llcs = 0, nodes = 0, links = 0;
  std::vector<int> capacity;    // slots of each cache
  std::vector<int> node_of;     // of each cache
  std::vector<int> package_of;  // of each cache with slots, else -1
  std::vector<int> link_of;     // row-major nodes x nodes, -1 on the diagonal
  // Seconds for one unit of amount: 1 / B, 1 / X, 1 / Y. per_port is 0 if the model has no ports.
  std::vector<double> per_node, per_link, per_port;
  bool has_ports = false;
  // Row-major links x nodes: the least node whose bytes with the node go over the link, -1 if none.
  // Two nodes of one side load the link alike.
  std::vector<int> side;
  // Row-major llcs x llcs, symmetric: means of both directions. The diagonal is the cost of two
  // ranks in one cache.
  std::vector<double> byte_cost, message_cost;
  // The kind of each cache. All other caches cost as much to one cache of a kind as to another.
  std::vector<int> kind_of;
  int kinds = 0;
  // All caches whose cost to some cache of kind K may differ from their cost to one of kind L, from
  // differing_from[K x kinds + L] on. Nodes may have a hundred caches, so lists for each pair of
  // caches would fill megabytes.
  std::vector<int> differing;
  std::vector<std::size_t> differing_from;
  std::vector<std::size_t> begin;
  std::vector<TreeEdge> edges;
  std::vector<double> strength;  // amount of each rank with all others, off-node bytes included
  std::vector<double> off_node;  // off-node bytes of each rank
  // Slots of a cache that are nearer to each other than the cache itself: those on one core, then
  // those on one L2. `others` is the number of other slots at that cost or a lower one, at most.
  // Empty if there are none.
  struct Nearer {
    double others, byte_cost, message_cost;
  };
  std::vector<Nearer> nearer;
  bool is_symmetric = true;  // both directions cost the same
  // The ways of off-node bytes to adapters; empty if these bytes have none. Row-major ranks x llcs:
  // the seconds of the way. Row-major ranks x nodes: its link, or -1; the adapters that it ends at,
  // or -1.
  std::vector<double> way_cost;
  std::vector<int> way_link, way_pool;
  std::vector<double> per_adapter;  // seconds for a byte
  // C of a rank over its share of the locality: the number of ranks; 0 if the model does not know
  // the times of ranks.
  double per_rank = 0;
  double least_congestion = 0;  // lower bound for all mappings

  // True if the cost of a partition is that of evaluate().
  bool is_exact() const { return is_symmetric && nearer.empty(); }
  std::size_t at(int c, int d) const {
    return static_cast<std::size_t>(c) * static_cast<std::size_t>(llcs) +
           static_cast<std::size_t>(d);
  }
  bool load_alike(int link, int a, int b) const {
    const int* of_link = &side[static_cast<std::size_t>(link) * static_cast<std::size_t>(nodes)];
    return of_link[a] == of_link[b];
  }
  int link_between(int k, int l) const {
    return link_of[static_cast<std::size_t>(k) * static_cast<std::size_t>(nodes) +
                   static_cast<std::size_t>(l)];
  }
  bool is_one_node(int c, int d) const { return node_of[c] == node_of[d]; }
  double cost(const TreeEdge& edge, int c, int d) const {
    const std::size_t pair = at(c, d);
    return edge.byte_work * byte_cost[pair] + edge.message_work * message_cost[pair];
  }
  double cost_of_way(int rank, int llc) const {
    return way_cost.empty() ? 0 : way_cost[at(rank, llc)];
  }
  // Calls visit(c) for each cache c whose cost to `a` differs from its cost to `b`, and perhaps for
  // others. REQUIRES: a != b.
  template <class Visit>
  void visit_differing(int a, int b, Visit visit) const {
    if (kind_of[a] == kind_of[b]) {
      visit(a);
      visit(b);
      return;
    }
    const auto pair = static_cast<std::size_t>(kind_of[a]) * kinds + kind_of[b];
    for (std::size_t each = differing_from[pair]; each < differing_from[pair + 1]; ++each)
      visit(differing[each]);
  }
  std::span<const TreeEdge> row(int rank) const {
    return std::span(edges).subspan(begin[rank], begin[rank + 1] - begin[rank]);
  }
};

}  // namespace ondeloc::coordinated
