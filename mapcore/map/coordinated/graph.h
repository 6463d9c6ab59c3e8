// SPDX-License-Identifier: Apache-2.0
// The graph that `coordinated` partitions, and the NUMA nodes that receive its vertices. A vertex
// is a rank, or in a coarse graph a group of ranks. Thread safety: values and views.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

// Compressed rows: the edges of vertex i are edges[begin[i]] .. edges[begin[i + 1] - 1]. Each edge
// is in the rows of both vertices. Weights are in bytes. A Graph is a view; the owner of the arrays
// outlives the view.
struct Graph {
  int vertices = 0;
  std::span<const std::size_t> begin;
  std::span<const Traffic::Edge> edges;
  std::span<const double> strength;  // all bytes of the vertex, with bytes inside a group
  std::span<const int> size;         // ranks in the vertex
  // A vertex is heavy if its strength is above this number: a few vertices (PME ranks, masters)
  // communicate far more than the others.
  double heavy = std::numeric_limits<double>::infinity();
  // True if light edges were left out. Vertices without an edge then exchange about as much with
  // each other as with any vertex.
  bool is_thinned = false;

  bool is_heavy(int vertex) const { return strength[vertex] > heavy; }
  std::span<const Traffic::Edge> row(int vertex) const {
    const auto i = static_cast<std::size_t>(vertex);
    return edges.subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// Summary of the edges of one vertex.
struct Row {
  double bytes = 0;   // of all edges
  double most = 0;    // of the heaviest edge
  int heaviest = -1;  // peer of the heaviest edge, the first of equals; -1 without edges
};
std::vector<Row> rows_of(const Graph& graph);

// Returns Graph::heavy for these strengths: a multiple of their median.
double heavy_strength(std::span<const double> strength);

// True if all values off the diagonal are equal, or if there are none. square: row-major n x n.
bool is_uniform(std::span<const double> square, std::size_t n);

// The cost model with every factor that the inner loops need. In these units the whole traffic is
// about 1, so that squares neither overflow nor vanish. The unit is a power of two, so that scaling
// the matrix by a power of two changes no comparison.
struct Target {
  int nodes = 0;
  double unit = 1;                    // a power of two: bytes * unit is at most about 1
  std::vector<int> capacity;          // slots per node, by Slot::node
  int usable = 0;                     // nodes with slots
  int smallest = 0;                   // slots of the usable node with the fewest slots
  std::vector<double> per_byte;       // unit / B_k
  std::vector<double> link_per_byte;  // unit / X_kl, row-major
  std::vector<double> penalty;        // unit (d_kl / d_local - 1) / sum B, row-major
  bool uniform_penalty = true;        // is_uniform(penalty)
  double least_squares = 0;  // lower bound of the sum of squared loads, over mean_load squared
  double mean_load = 0;  // lower bound of the congestion: sum M / sum B of usable nodes, in units
  static Target from(const MapRequest& request, std::span<const double> strength);
};

// Returns the nodes with slots, ascending.
std::vector<int> usable_nodes(const Target& target);

}  // namespace ondeloc::coordinated
