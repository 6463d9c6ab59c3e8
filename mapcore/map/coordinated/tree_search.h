// SPDX-License-Identifier: Apache-2.0
// Local search and iterated local search on a TreeState, by moves and swaps of single ranks over
// all last-level caches. Locality and congestion of every level count at once. Work is counted, not
// timed. Thread safety: none.
#pragma once

#include <cstdint>

#include "mapcore/map/coordinated/tree_state.h"

namespace ondeloc::coordinated {

// A descent ends with this work at the latest; one unit of work is about one candidate.
struct DescentLimit {
  std::int64_t work;
  // Candidates whose exact value is asked for count with their edges too.
  bool counts_edges = false;
};

class TreeSearch {
 public:
  TreeSearch(const TreeTarget& target, DescentLimit limit);

  // Refines the part and keeps the result if it is the best. Ignores an empty part.
  void offer(const Part& part);
  // Keeps the part, without refinement, if the part is the best.
  void adopt(const Part& part);
  // Perturbs and refines the best part repeatedly until the work is used up, and makes the best
  // part a local optimum. A result that costs more is accepted up to a threshold, which falls to 0
  // with the work that is left (G. Dueck and T. Scheuer, "Threshold accepting", J. Comput. Phys.
  // 90, 1990).
  void iterate(std::uint64_t seed, std::int64_t work);
  // Returns the part with as many ranks as possible brought back to `previous` without loss.
  Part bring_back(const Part& part, const Part& previous);

  // True if no move and no swap of single ranks improves the part.
  bool is_local_optimum(const Part& part);

  const Part& best() const { return best_; }
  const Value& value() const { return value_; }

 private:
  struct Choice {
    Value value;
    int partner = -1, to = -1;
  };
  struct Step {
    int rank, partner, from;
  };
  void keep_better();
  void descend_from_all();
  bool descend();  // true if a rank moved
  bool improve(int rank);
  // The most by which the locality may grow if a resource and a rank keep these times.
  double slack(double congestion, double busiest) const;
  // `kept` is the congestion that stays (TreeState::kept_congestion).
  void consider_swaps(int rank, int to, double kept, const BusyRanks::Beside& beside, Choice& best);
  void consider(int rank, int partner, int to, const TreeEdge* edge, Choice& best);
  std::int64_t edge_work(int rank, int partner) const;
  double least_back(int from, int to);
  void apply(int rank, int partner, int to);
  void mark(int rank);
  void clear_queue();
  void forget_around(int rank);
  int one_to_kick(std::uint64_t& random) const;
  void kick(std::uint64_t& random);
  void go_back();
  bool loses_nothing(int rank, int partner, int to, const TreeEdge* edge) const;
  bool bring_home(int rank, const Part& previous);

  const TreeTarget& target_;
  DescentLimit limit_;
  TreeState state_;
  Acceptance acceptance_;
  std::vector<char> waiting_;
  std::vector<int> queue_;                // the waiting ranks
  std::vector<const TreeEdge*> edge_to_;  // edges of the rank in hand, by peer
  std::vector<double> least_back_;        // [from][to]; NaN: unknown
  std::vector<Step> steps_;
  bool recording_ = false;
  std::int64_t work_ = 0;
  int candidates_ = 0;  // that improve() may still consider
  Part best_;
  Value value_;
  bool is_best_optimal_ = false;  // a descent from all ranks left it as it was
};

}  // namespace ondeloc::coordinated
