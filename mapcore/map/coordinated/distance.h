// SPDX-License-Identifier: Apache-2.0
// Local search for traffic times distance alone: what `locality` minimises. Loads and links do not
// count, so one number for every vertex and node says all: what its edges would cost there (the
// gain table of C. M. Fiduccia and R. M. Mattheyses, DAC 1982). Moves, and swaps of two vertices
// (B. W. Kernighan and S. Lin, Bell Syst. Tech. J. 49(2), 1970): of two that gain by changing
// places at least one gains by its own way alone, and only that one looks for a partner. Thread
// safety: none; one refiner per call.
#pragma once

#include <memory_resource>
#include <vector>

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

class DistanceRefiner {
 public:
  // distance: row-major nodes x nodes, symmetric, 0 on the diagonal, else positive. For graphs of
  // at most `vertices`. Both views outlive the refiner.
  DistanceRefiner(std::span<const int> capacity, std::span<const double> distance, int vertices);

  // Moves and swaps until none makes it less. REQUIRES: no node above its capacity. Returns the sum
  // of bytes times distance over all pairs.
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
  int node_of(int vertex) const { return part_[static_cast<std::size_t>(vertex)]; }
  std::size_t at(int row, int node) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(nodes_) +
           static_cast<std::size_t>(node);
  }
  // Change of what its edges cost when the vertex alone moves.
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
  bool uniform_;  // one distance between all nodes: apart_
  double apart_;
  Graph graph_;
  std::span<int> part_;
  double total_ = 0;
  double least_gain_ = 0;                        // what changes less is rounding
  std::pmr::monotonic_buffer_resource memory_;   // one allocation for all arrays
  std::pmr::vector<double> cost_{&memory_};      // [vertex][node]: of its edges, were it there
  std::pmr::vector<double> crossing_{&memory_};  // what a swap with the one in hand leaves between
  std::pmr::vector<double> least_back_{&memory_};  // [to][from]; not a number: unknown
  std::pmr::vector<int> members_{&memory_}, place_{&memory_}, room_{&memory_};
  std::pmr::vector<std::size_t> first_{&memory_}, count_{&memory_};
  std::pmr::vector<char> waiting_{&memory_};
};

}  // namespace ondeloc::coordinated
