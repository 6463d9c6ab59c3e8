// SPDX-License-Identifier: Apache-2.0
// What `coordinated` partitions: a weighted graph of ranks (or of groups of ranks, while coarse)
// and the NUMA nodes that receive them. Thread safety: values and views.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

// Compressed rows: the edges of vertex i are edges[begin[i]] .. edges[begin[i + 1] - 1], each edge
// in both rows, weights in bytes. A view; the owner outlives it.
struct Graph {
  int vertices = 0;
  std::span<const std::size_t> begin;
  std::span<const Traffic::Edge> edges;
  std::span<const double> strength;  // all bytes of the vertex, those inside a group included
  std::span<const int> size;         // ranks in the vertex
  // Few vertices that talk far more than the others (PME ranks, masters) are heavier than this.
  double heavy = std::numeric_limits<double>::infinity();

  bool is_heavy(int vertex) const { return strength[static_cast<std::size_t>(vertex)] > heavy; }
  std::span<const Traffic::Edge> row(int vertex) const {
    const auto i = static_cast<std::size_t>(vertex);
    return edges.subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// What the edges of one vertex come to.
struct Row {
  double bytes = 0;   // all
  double most = 0;    // the heaviest edge's
  int heaviest = -1;  // its peer, the first of equals; -1 without edges
};
std::vector<Row> rows_of(const Graph& graph);

// What Graph::heavy is for these strengths: a multiple of their median.
double heavy_strength(std::span<const double> strength);

// One value off the diagonal, such as none. square: row-major n x n.
bool is_uniform(std::span<const double> square, std::size_t n);

// The cost model with every factor that the inner loops need, in units where the whole traffic is
// about 1, so that squares neither overflow nor vanish. The unit is a power of two: scaling the
// matrix by a power of two changes no comparison.
struct Target {
  int nodes = 0;
  double unit = 1;               // a power of two: bytes * unit is at most about 1
  std::vector<int> capacity;     // slots per node; none where the PUs of a slot start elsewhere
  int usable = 0;                // nodes with slots
  int smallest = 0;              // slots of the smallest of them
  std::vector<double> per_byte;  // unit / B_k
  std::vector<double> link_per_byte;  // unit / X_kl, row-major
  std::vector<double> penalty;        // unit (d_kl / d_local - 1) / sum B, row-major
  bool uniform_penalty = true;        // is_uniform(penalty)
  double least_squares = 0;           // sum of squared loads at least, over mean_load squared
  double mean_load = 0;  // lower bound of the congestion: sum M / sum B of usable nodes, in units
  static Target from(const MapRequest& request, std::span<const double> strength);
};

// Those with slots, ascending.
std::vector<int> usable_nodes(const Target& target);

}  // namespace ondeloc::coordinated
