// SPDX-License-Identifier: Apache-2.0
// Local search on a State by moves and swaps of single vertices. The search applies the best step
// of each vertex's neighbourhood at once (B. W. Kernighan and S. Lin, Bell Syst. Tech. J. 49(2),
// 1970, for the swaps; C. M. Fiduccia and R. M. Mattheyses, DAC 1982, for moves and the gain
// table). Iterated local search repeats this from perturbed states (H. R. Lourenco, O. C. Martin,
// T. Stuetzle, Handbook of Metaheuristics, 2003). Work is counted, not timed: the same request
// takes the same steps everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "mapcore/map/coordinated/bounds.h"
#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

class Refiner {
 public:
  explicit Refiner(State& state);

  // Applies moves and swaps until none improves the value, or until the work is used up. Returns
  // false if the work ran out. Call this function after state.reset() or state.smooth().
  bool descend();

  // Returns true if no single move or swap improves the value. Stops at the first improving step.
  bool is_local_optimum();

  // Perturbs and descends repeatedly and keeps the best state. Stops when the work is used up, or
  // when `patience` of the work has passed since the last improvement.
  void iterate(std::uint64_t seed, std::int64_t patience);

  // Limits the work. One unit is about one candidate.
  void allow(std::int64_t work) { work_ = work; }
  std::int64_t work_left() const { return work_; }

 private:
  struct Choice {
    Value value;
    int second = -1;
    int to = -1;
  };
  struct Step {
    int first, second, from;  // second < 0: a move
  };
  Choice best_of(int vertex);
  const SwapTerms& terms_of(int from, int to);
  void forget_all();
  void forget(int a, int b);
  void swap(int first, int second);
  void move(int vertex, int to);
  int next_waiting(int from) const;
  bool settle(int first);  // visits waiting vertices only
  void mark(int vertex);   // the vertex and its neighbours wait
  void consider_move(int vertex, int to, Choice& best);
  void consider_swaps(int vertex, int to, Choice& best);
  void consider_swap(int vertex, int other, int to, Choice& best);
  bool has_partners(int vertex, int to, double least, double limit);
  void spread_edges(int vertex);
  void gather_edges(int vertex);
  void apply(int vertex, const Choice& choice);
  void kick(std::uint64_t& random);
  void go_back();
  bool fits(int first, int second, int to) const;
  std::size_t pair(int k, int l) const {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(state_.nodes()) +
           static_cast<std::size_t>(l);
  }

  State& state_;
  Acceptance acceptance_;
  std::int64_t work_ = 0;
  bool recording_ = false;                      // apply() adds to steps_
  std::pmr::monotonic_buffer_resource memory_;  // one allocation for all arrays but steps_
  // Bytes between the vertex in hand and every other vertex.
  std::pmr::vector<double> edge_{&memory_};
  std::pmr::vector<int> targets_{&memory_};  // nodes in which the vertex in hand may find a partner
  std::pmr::vector<SwapTerms> terms_{&memory_};  // [from][to], each with its own epoch
  std::pmr::vector<float> bounds_{&memory_};     // of the candidates, by place
  // [to][from]: the least change of locality if one vertex of `to` moved to `from`. This number
  // alone rules out most nodes for a vertex. NaN: unknown.
  std::pmr::vector<LeastChange> least_back_{&memory_};
  // The lightest edge of a vertex that has an edge with every other vertex, else 0.
  std::pmr::vector<double> least_edge_{&memory_};
  // Vertices whose neighbourhood changed since the search last visited them.
  std::pmr::vector<char> waiting_{&memory_};
  // The epoch of the state in which the search found no better step for a vertex.
  std::pmr::vector<int> checked_epoch_{&memory_};
  std::vector<Step> steps_;  // steps since the best state that iterate() knows
  // For large graphs: a vertex tries only nodes with its peers, unless it is on the heaviest node.
  bool selective_;
};

}  // namespace ondeloc::coordinated
