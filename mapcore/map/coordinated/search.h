// SPDX-License-Identifier: Apache-2.0
// The search that all starts, the multilevel solution and the refinement share. The search keeps
// the best partition that it has seen. Thread safety: none; one search per call.
#pragma once

#include "mapcore/map/coordinated/multilevel.h"
#include "mapcore/map/coordinated/refine.h"

namespace ondeloc::coordinated {

// The ranks of a request as a graph. A RankGraph owns the arrays that its view needs beside the
// traffic.
struct RankGraph {
  explicit RankGraph(const MapRequest& request);
  // Takes only the vertices `members` (ascending) of `whole` and the edges among them. The
  // strengths are the sums of these edges. With `far` above 0 an edge weighs more by `far` times
  // the share of the traffic of its two ranks that leaves the members: such a rank has partners
  // outside already.
  RankGraph(const Graph& whole, std::span<const int> members, double far = 0);
  RankGraph(const RankGraph&) = delete;
  RankGraph& operator=(const RankGraph&) = delete;
  std::vector<double> strength;  // off-node bytes included
  std::vector<int> size;
  Graph view;
  std::vector<Row> rows;  // rows of the view
  // Returns the graph from which coarser graphs are made. For a dense graph the skeleton is the
  // view with only those edges that are heavier than the mean edge of one of their two ranks,
  // because merging and growing look only at the heaviest edges. Otherwise the skeleton is the view
  // itself. The skeleton is made at the first call.
  const Graph& skeleton();

 private:
  void keep_heavy_edges();
  Graph skeleton_;
  std::vector<std::size_t> begin_, own_begin_;  // row begins of the skeleton and of a subset
  std::vector<Traffic::Edge> edges_, own_edges_;
};

class Search {
 public:
  Search(const Graph& graph, const Target& target);

  bool is_local_optimum(const Part& part);
  void adopt(const Part& part);  // keeps the part, without refinement, if the part is the best
  // Refines the part, in small graphs on the smoothed cost too, and keeps the result if it is the
  // best. Ignores an empty part.
  void offer(const Part& part);
  // Searches among groups of ranks that are together in the best partition, coarsest groups first
  // (C. Walshaw, "Multilevel refinement for combinatorial optimisation problems", Ann. Oper. Res.
  // 131, 2004).
  void cycle(const Graph& skeleton, std::uint64_t shuffle = 0);
  // Iterated local search from the best partition, with about the work that a general partitioner
  // needs.
  void polish();
  // Continues the search, round after round. A round tries another multilevel solution, a cycle
  // over other groups, and several times the usual work. More rounds never give a higher cost than
  // fewer rounds.
  void search_on(const Graph& skeleton, int rounds);
  // Refines the best partition until it is a local optimum as a whole.
  void settle();
  // Returns the best partition, with nodes renamed and vertices moved back so that as many vertices
  // as possible are on their previous node.
  Part relabel_to_previous(std::span<const int> previous);

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

// Makes the levels once for all functions that solve on them; `shuffle` as in coarsen().
Levels levels_of(const Graph& graph, const Target& target, std::uint64_t shuffle = 0);

// Returns a partition of `graph` that was grown and searched on the coarsest level and refined on
// every finer level, but not on `graph` itself. A rough solution is grown and refined on the
// coarsest level only.
enum class Solution { kGood, kRough };
Part coarse_solution(const Graph& graph, const Target& target, const Levels& levels,
                     Solution solution = Solution::kGood);

// Returns the cost of that solution after refinement on the coarsest graph. Finer graphs improve
// this cost only little. Infinite if there is no coarser graph or no partition fits.
double coarse_cost(const Graph& graph, const Target& target, const Levels& levels);

}  // namespace ondeloc::coordinated
