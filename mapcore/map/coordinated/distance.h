// SPDX-License-Identifier: Apache-2.0
// Local search for the least traffic times distance, which is the goal of `locality`. Loads and
// links do not count. One number for every vertex and node is therefore enough: the cost of the
// vertex's edges on that node (the gain table of C. M. Fiduccia and R. M. Mattheyses, DAC 1982).
// The steps are moves, and swaps of two vertices (B. W. Kernighan and S. Lin, Bell Syst. Tech. J.
// 49(2), 1970). If a swap gains, at least one of its two vertices gains by moving alone, and only
// such a vertex looks for a partner. Thread safety: none; one refiner per call.
#pragma once

#include <memory_resource>
#include <vector>

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

class DistanceRefiner {
 public:
  // distance: row-major nodes x nodes, symmetric, 0 on the diagonal, positive elsewhere. The
  // refiner accepts graphs of at most `vertices` vertices. Both spans outlive the refiner.
  DistanceRefiner(std::span<const int> capacity, std::span<const double> distance, int vertices);

  // Moves and swaps vertices as long as the search finds a step that reduces the sum. REQUIRES: no
  // node is above its capacity. Returns the sum of bytes times distance over all pairs.
  double refine(const Graph& graph, std::span<int> part);

 private:
  struct Choice {
    double change = 0;
    int second = -1, to = -1;  // second < 0: a move
  };
  void reset();
  void price(int vertex);
  bool settle();
  Choice best_of(int vertex);
  void consider_swaps(int vertex, int to, Choice& best);
  void apply(int vertex, const Choice& choice);
  void shift(int vertex, int to);
  double least_back(int to, int from);
  void forget(int a, int b);
  bool fits(int first, int second, int to) const;
  int node_of(int vertex) const { return part_[vertex]; }
  std::size_t at(int row, int node) const { return static_cast<std::size_t>(row) * nodes_ + node; }
  // Change of the cost of the vertex's edges when the vertex moves alone.
  double change(int vertex, int from, int to) const {
    return cost_[at(vertex, to)] - cost_[at(vertex, from)];
  }
  std::span<const int> members(int node) const {
    const auto k = static_cast<std::size_t>(node);
    return std::span(members_).subspan(first_[k], count_[k]);
  }

  std::span<const int> capacity_;
  std::span<const double> distance_;
  int nodes_;
  bool uniform_;  // all pairs of nodes have the distance apart_
  double apart_;
  Graph graph_;
  std::span<int> part_;
  double total_ = 0;
  double least_gain_ = 0;                       // a smaller change is rounding
  std::pmr::monotonic_buffer_resource memory_;  // one allocation for all arrays
  std::pmr::vector<double> cost_{&memory_};  // [vertex][node]: the vertex's edges, if it were there
  std::pmr::vector<double> crossing_{&memory_};    // bytes of each vertex with the one in hand
  std::pmr::vector<double> least_back_{&memory_};  // [to][from]; NaN: unknown
  std::pmr::vector<int> members_{&memory_}, position_{&memory_}, free_slots_{&memory_};
  std::pmr::vector<std::size_t> first_{&memory_}, count_{&memory_};
  std::pmr::vector<char> waiting_{&memory_};
};

}  // namespace ondeloc::coordinated
