// SPDX-License-Identifier: Apache-2.0
// Local search on a State: moves and swaps of single vertices, the best of each vertex's
// neighbourhood taken at once (B. W. Kernighan and S. Lin, Bell Syst. Tech. J. 49(2), 1970, for the
// swaps; C. M. Fiduccia and R. M. Mattheyses, DAC 1982, for moves and the gain table), and iterated
// local search round it (H. R. Lourenco, O. C. Martin, T. Stuetzle, Handbook of Metaheuristics,
// 2003). Work is counted, not timed: the same request takes the same steps everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "mapcore/map/coordinated/bounds.h"
#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

class Refiner {
 public:
  explicit Refiner(State& state);

  // Until no move and no swap makes the value better, or the work is used up. True when a local
  // optimum was reached. Call it after state.reset() or state.smooth().
  bool descend();

  // True when no single move or swap makes the value better. Stops at the first that does.
  bool is_local_optimum();

  // Perturbs and descends again and again, keeping the best, until the work is used up, or
  // `patience` of it since something better was found.
  void iterate(std::uint64_t seed, std::int64_t patience);

  // One unit is about one candidate looked at.
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
  bool settle(int first);  // from what is waiting only
  void mark(int vertex);   // it and its neighbours may have found something better
  void lower_bar(const Value& value);
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
  // What the next step has to be better than: of all since the descent began the least cost, the
  // least squares since that went down, and the remote bytes since these did. Not the present
  // value, since differences below kSame count as none and add up: a light vertex would go round
  // for ever, a little dearer and more even by each step and cheaper by the last.
  Value bar_;
  std::int64_t work_ = 0;
  bool recording_ = false;                      // into steps_
  std::pmr::monotonic_buffer_resource memory_;  // one allocation for all arrays but steps_
  // Bytes between the vertex in hand and every other.
  std::pmr::vector<double> edge_{&memory_};
  std::pmr::vector<int> targets_{&memory_};      // nodes where it may find a partner
  std::pmr::vector<SwapTerms> terms_{&memory_};  // [from][to], as of the epoch that each tells
  std::pmr::vector<float> bounds_{&memory_};     // of the candidates, by place
  // [to][from]: the least change of locality over the vertices of `to` if one went to `from`; one
  // look at it rules most nodes out for a vertex. Not a number where it has to be found again.
  std::pmr::vector<LeastChange> least_back_{&memory_};
  // Of a vertex that talks to all others, else 0.
  std::pmr::vector<double> least_edge_{&memory_};
  // Vertices whose neighbourhood changed since they were looked at.
  std::pmr::vector<char> waiting_{&memory_};
  // The epoch of the state in which nothing better was found for a vertex.
  std::pmr::vector<int> asked_{&memory_};
  std::vector<Step> steps_;  // what was done since the best that iterate() knows
  bool selective_;           // large graphs: only nodes that a vertex talks to, or relief
};

}  // namespace ondeloc::coordinated
