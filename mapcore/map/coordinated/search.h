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
  std::vector<Row> rows;  // of the view
  // What coarser graphs are made of: of a dense graph only the edges that are heavier than the mean
  // of one of their two ranks, because merging and growing look at the heaviest only; else `view`.
  // Made when it is first asked for.
  const Graph& skeleton();

 private:
  void keep_heavy_edges();
  Graph skeleton_;
  std::vector<std::size_t> begin_;
  std::vector<Traffic::Edge> edges_;
};

class Search {
 public:
  Search(const Graph& graph, const Target& target);

  bool is_local_optimum(const Part& part);
  void adopt(const Part& part);  // keeps it, without refinement, if it is the best
  // Refines the part, on the smoothed cost too, and keeps it if it is the best. Empty: ignored.
  void offer(const Part& part);
  // Searches among groups of ranks that are together in the best, coarsest groups first (C.
  // Walshaw, "Multilevel refinement for combinatorial optimisation problems", Ann. Oper. Res. 131,
  // 2004).
  void cycle(const Graph& skeleton, std::uint64_t shuffle = 0);
  // Iterated local search round the best for about the work that a general partitioner needs.
  void polish();
  // Goes on, round after round: another multilevel solution, a cycle over other groups, and some
  // times the work of polish(). What more rounds find costs no more than what fewer do.
  void search_on(const Graph& skeleton, int rounds);
  // Makes the best a local optimum as a whole.
  void settle();
  // The best, renamed and moved back so that as many vertices as possible are where they were.
  Part stay_put(std::span<const int> previous);

  const Part& best() const { return best_; }
  const Value& value() const { return value_; }

 private:
  void refine();
  void search_round_best(std::uint64_t seed, std::int64_t work, std::int64_t patience);
  void keep_better();

  const Graph& graph_;
  const Target& target_;
  State state_;
  Refiner refiner_;
  Part best_;
  Value value_;
};

// Made once for all that solve on them; `shuffle` as in coarsen().
Levels levels_of(const Graph& graph, const Target& target, std::uint64_t shuffle = 0);

// Grown and searched on the coarsest level and refined on the way back, up to the finest graph but
// one.
Part coarse_solution(const Graph& graph, const Target& target, const Levels& levels);

// What that costs on the coarsest graph already: finer ones make it little better. Infinite where
// there is none or nothing fits.
double coarse_cost(const Graph& graph, const Target& target, const Levels& levels);

// The nodes that the algorithm locality gives (mapcore/map/locality.cc).
struct Start {
  Part part;
  double remote = 0;  // bytes between nodes, at least
};
Start locality_start(const MapRequest& request, RankGraph& ranks, const Target& target,
                     const Levels& levels);

}  // namespace ondeloc::coordinated
