// SPDX-License-Identifier: Apache-2.0
// The search that starts, multilevel solution and refinement share: it keeps the best partition
// that it has seen. Thread safety: none; one search per call.
#pragma once

#include "mapcore/map/coordinated/multilevel.h"
#include "mapcore/map/coordinated/refine.h"

namespace ondeloc::coordinated {

// The ranks of a request as a graph; owns what the view needs beside the traffic.
struct RankGraph {
  explicit RankGraph(const MapRequest& request);
  std::vector<double> strength;  // off-node bytes included
  std::vector<int> size;
  Graph view;
};

class Search {
 public:
  Search(const Graph& graph, const Target& target);

  Value value_of(const Part& part);  // as it is, without refinement
  bool is_local_optimum(const Part& part);
  // Refines the part, on the smoothed cost too, and keeps it if it is the best. Empty: ignored.
  void offer(const Part& part);
  // Iterated local search round the best for about the work that a general partitioner needs.
  void polish();
  // Grown on the coarsest graph and refined on the way back, up to the finest graph but one.
  Part coarse_solution();
  // The best, renamed and moved back so that as many vertices as possible are where they were.
  Part stay_put(std::span<const int> previous);

  const Part& best() const { return best_; }
  const Value& value() const { return value_; }

 private:
  void refine();
  void keep_better();

  const Graph& graph_;
  const Target& target_;
  State state_;
  Refiner refiner_;
  Part best_;
  Value value_;
};

// The nodes that the algorithm locality gives (mapcore/map/locality.cc).
Part locality_start(const MapRequest& request, const RankGraph& ranks);

}  // namespace ondeloc::coordinated
