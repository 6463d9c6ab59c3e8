// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_solve.h"

#include <algorithm>
#include <limits>

#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/component_start.h"
#include "mapcore/map/coordinated/cores.h"
#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/tree_divide.h"
#include "mapcore/map/coordinated/tree_exact.h"
#include "mapcore/map/coordinated/tree_order.h"
#include "mapcore/map/coordinated/tree_relaxed.h"
#include "mapcore/map/coordinated/tree_search.h"
#include "mapcore/map/coordinated/tree_valuation.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class TreeSolver {
 public:
  TreeSolver(const MapRequest& request, int effort)
      : request_(request), effort_(effort), problem_(request), search_(tree_, descent_limit()) {}

  Mapping run() {
    const double least = least_tree_cost(tree_);
    if (!request_.previous.empty()) now_ = cost_of(request_.previous, kNoLimit);
    if (!request_.previous.empty() && !is_less(least, now_)) return request_.previous;
    const auto is_optimal = [&] { return !is_less(least, cost_); };
    add_simple_starts();
    if (!is_optimal() && !previous_.empty() && find_cheapest()) return settle();
    if (!is_optimal()) add_starts();
    if (is_optimal()) {
      if (previous_.empty()) return settle();
      // Steps from the present mapping often lead to one of the same cost, with fewer moves: the
      // fewest if only the costs of pairs count.
      if (knows_ranks()) offer_relaxed(previous_, tuning::kRelaxedPairs, 0);
      search_.offer(previous_);
      search_.adopt(best_start_);
      keep_found();
      return settle();
    }
    if (previous_.empty() && find_cheapest()) return settle();
    if (needs_no_change()) return request_.previous;
    if (knows_ranks() && is_middling()) {
      offer_best_of(divide_afresh(problem_));
    } else {
      offer_fresh_and_start(divide_afresh(problem_));
      if (knows_ranks() && tree_.ranks <= tuning::kFewOnTree) offer_halves_and_relaxed();
    }
    if (has_inside() || effort_ > 1) search_.iterate(tuning::kSeed, work());
    if (is_hard() && (previous_.empty() || is_less(search_.value().cost, now_)))
      search_.iterate(tuning::kSeed, work_of_few());
    keep_found();
    search_on();
    keep_quick();
    keep_cheapest_seen();
    return settle();
  }

 private:
  // Pairs of a rank and a cache.
  std::int64_t places() const { return std::int64_t{tree_.llcs} * tree_.ranks; }
  std::int64_t work() const {
    const std::int64_t usual = tuning::kTreeWork * tree_.ranks;
    if (tree_.ranks > tuning::kFewOnTree) return usual;
    return usual + std::min(tuning::kTreeWorkOfFew, tuning::kTreeWorkOfPlace * places());
  }
  std::int64_t work_of_few() const {
    const std::int64_t ranks = std::min(tree_.ranks, tuning::kVeryFew);
    return tuning::kPlaceWorkOfFew * places() * ranks / tuning::kVeryFew;
  }
  std::int64_t round_work() const { return tuning::kTreeRoundWork * work(); }
  // Few ranks have no limit. With EFFORT above 1 a descent has the work of a round of the search:
  // if all ranks send almost alike to all, the last steps of a descent gain next to nothing and
  // take most of the time. With a present mapping the limit is far above what programs need, since
  // a descent that ends early moves more ranks.
  DescentLimit descent_limit() const {
    if (tree_.ranks <= tuning::kFewOnTree) return {tuning::kUnlimitedWork};
    if (effort_ > 1) return {round_work()};
    if (tree_.ranks > tuning::kManyOnTree) return {tree_.ranks * tuning::kDescentWorkOfMany};
    if (previous_.empty()) return {tree_.ranks * tuning::kDescentWork};
    return {tuning::kDescentWorkFromPresent, true};
  }
  bool knows_ranks() const { return tree_.per_rank > 0; }
  bool is_middling() const {
    return tree_.ranks > tuning::kFewOnTree && tree_.ranks <= tuning::kManyOnTree;
  }
  // With one cache in each node the partition over the nodes has been searched for already.
  bool has_inside() const { return tree_.llcs > tree_.nodes; }
  // Few ranks on several caches in a node have many mappings that no single move or swap improves.
  bool is_hard() const { return tree_.ranks <= tuning::kFewOnTree && has_inside(); }

  // Returns the cheapest mapping. If its gain is next to nothing, the present mapping stays;
  // without a present mapping, the simple one stays in which the ranks are in order.
  Mapping settle() {
    if (!request_.previous.empty() && cost_ >= now_ * (1 - tuning::kWorthMoving))
      return request_.previous;
    if (request_.previous.empty() && cost_ >= simple_cost_ * (1 - tuning::kWorthDisorder))
      return std::move(simple_);
    return std::move(mapping_);
  }

  // Few ranks have so few partitions that the cheapest is found without a search. Returns false if
  // there are too many. The best one seen then waits for the end: a search that starts elsewhere
  // with more EFFORT might cost more.
  bool find_cheapest() {
    if (!tree_.is_exact() ||
        tree_.ranks > (effort_ > 1 ? tuning::kFewToProve : tuning::kVeryFewToProve))
      return false;
    const Part& start = previous_.empty() ? best_start_ : previous_;
    Cheapest cheapest = cheapest_part(tree_, start, tuning::kProofWork * effort_);
    cheapest_seen_ = std::move(cheapest.part);
    if (cheapest.is_proven) keep_cheapest_seen();
    return cheapest.is_proven;
  }
  void keep_cheapest_seen() {
    if (cheapest_seen_.empty()) return;
    search_.adopt(cheapest_seen_);
    keep_found();
  }

  void offer_previous(const Part& fresh) {
    if (previous_.empty()) return;
    if (nodes_of(tree_, previous_) != nodes_of(tree_, fresh))
      search_.offer(divide_nodes(problem_, nodes_of(tree_, previous_)));
    search_.offer(previous_);
  }

  void offer_fresh_and_start(const Part& fresh) {
    const double of_fresh = tree_cost(tree_, fresh, kNoLimit, scratch_);
    const double of_start = tree_cost(tree_, best_start_, kNoLimit, scratch_);
    offer_previous(fresh);
    const bool many = tree_.ranks > tuning::kManyOnTree;
    if (!many || of_fresh < tuning::kFarFromStart * of_start) search_.offer(fresh);
    // Refinement does not bring a start beyond reach to the best.
    const double of_best = many && !search_.best().empty() ? search_.value().cost : of_fresh;
    if (!is_less(tuning::kWithinReach * of_best, of_start)) search_.offer(best_start_);
  }

  // The usual interval: the present mapping costs no more than the starts and than a rough fresh
  // solution, and no move or swap improves it. EFFORT above 1 asks for more.
  bool needs_no_change() {
    if (previous_.empty() || effort_ > 1 || is_less(cost_, now_)) return false;
    if (tree_.ranks <= tuning::kFewVertices || !search_.is_local_optimum(previous_)) return false;
    const Part fresh = divide_nodes(problem_, divide_over_nodes(problem_, kRough), kRough);
    const double now = tree_cost(tree_, previous_, kNoLimit, scratch_);
    return !is_less(tree_cost(tree_, fresh, now, scratch_), now);
  }

  // For few ranks: partitions into halves, and searches on smoother costs (tree_relaxed.h).
  void offer_halves_and_relaxed() {
    search_.offer(divide_by_halves(problem_));
    for (const Relaxation& how : tuning::kRelaxations)
      offer_relaxed(search_.best(), how, tuning::kRelaxedWork * tree_.ranks);
  }

  // For more ranks: descents take most of the time, so there are two from the cheapest start, one
  // of them by way of a smoother cost, besides the one from the present mapping.
  void offer_best_of(const Part& fresh) {
    offer_previous(fresh);
    for (const Part& part : {fresh, divide_by_halves(problem_), best_start_}) search_.adopt(part);
    const Part best = search_.best();
    offer_relaxed(best, tuning::kRelaxedLoads, 0);
    search_.offer(best);
  }

  void offer_relaxed(const Part& start, const Relaxation& how, std::int64_t work) {
    const TreeTarget relaxed = relaxed_target(tree_, start, how);
    TreeSearch search(relaxed, descent_limit());
    search.offer(start);
    if (work > 0) search.iterate(tuning::kSeed, work);
    if (search.best() != start) search_.offer(search.best());
  }

  // With many ranks the descents of EFFORT 1 have another limit, so that EFFORT 1 may find what no
  // round finds: five hubs of 128 ranks cost up to 3 % more with EFFORT 3 and a present mapping.
  void keep_quick() {
    if (effort_ < 2 || tree_.ranks <= tuning::kFewOnTree) return;
    search_.adopt(llcs_of(request_, TreeSolver(request_, 1).run()));
    keep_found();
  }

  // Searches round after round from other seeds: from the best partition and, with several caches
  // in a node, from even loads too. More rounds never give a higher cost than fewer rounds.
  void search_on() {
    if (effort_ < 2) return;
    search_.offer(divide_nodes(problem_, divide_over_nodes(problem_, tuning::kTreeNodeEffort), 1));
    const Part even = has_inside() ? llcs_of(request_, even_loads()) : Part();
    for (int round = 1; round < effort_; ++round) {
      const std::uint64_t seed = tuning::kSeed + static_cast<std::uint64_t>(round);
      search_.iterate(seed, round_work());
      search_.offer(searched_from(even, tuning::kSeedsFromEvenLoads + seed));
      keep_found();
    }
  }

  // With even loads, the partition with the least congestion is near, though no single move or swap
  // leads there from the best partition: each of them makes only one of many full resources less
  // full.
  Mapping even_loads() const {
    return place_on_slots(request_, balance_start(problem_.ranks.view, problem_.over_nodes));
  }
  // Returns the best partition of a search of its own; an empty one if `start` is empty.
  Part searched_from(const Part& start, std::uint64_t seed) const {
    if (start.empty()) return {};
    TreeSearch search(tree_, descent_limit());
    search.adopt(start);
    search.iterate(seed, round_work());
    return search.best();
  }

  Mapping to_mapping() {
    Part part = with_best_names(tree_, search_.best(), previous_);
    if (!previous_.empty()) part = search_.bring_back(part, previous_);
    Mapping mapping = place_on_slots(request_, part, PlaceBy::kLlc);
    share_cores(request_, mapping);
    if (!tree_.is_exact() && tree_.ranks <= tuning::kFewVertices) exchange_all(mapping);
    return mapping;
  }

  // Tries every exchange of two slots on the cost itself; for few ranks only. If partitions have
  // the cost of evaluate(), the search has tried the same.
  void exchange_all(Mapping& mapping) const {
    std::vector<int> rank_at(request_.slots.size(), -1);
    for (std::size_t i = 0; i < mapping.size(); ++i)
      rank_at[mapping[i].value] = static_cast<int>(i);
    const auto exchange = [&](std::size_t s, std::size_t t) {
      std::swap(rank_at[s], rank_at[t]);
      for (const std::size_t slot : {s, t})
        if (rank_at[slot] >= 0) mapping[rank_at[slot]] = SlotIndex(static_cast<int>(slot));
    };
    double cost = cost_of(mapping);
    bool changed = true;
    for (int turn = 0; changed && turn < tuning::kSettleRounds; ++turn) {
      changed = false;
      for (std::size_t s = 0; s < rank_at.size(); ++s) {
        for (std::size_t t = s + 1; t < rank_at.size(); ++t) {
          const bool differs = !(request_.slots[s].seat == request_.slots[t].seat);
          if (!differs || (rank_at[s] < 0 && rank_at[t] < 0)) continue;
          exchange(s, t);
          const double now = cost_of(mapping);
          if (now < cost * (1 - tuning::kWorthMoving)) {
            cost = now;
            changed = true;
          } else {
            exchange(s, t);
          }
        }
      }
    }
  }

  // Value the mappings of other algorithms. The search starts from the cheapest of them.
  void add_simple_starts() {
    for (const MapFunction map : {map_packed, map_scatter}) keep_cheaper(*map(request_, ""));
    take_best_start();
  }
  void add_starts() {
    keep_cheaper(even_loads());
    const Part groups = component_start(problem_.ranks.skeleton(), problem_.ranks.rows,
                                        {tree_.capacity, tree_.node_of, tree_.per_node});
    if (!groups.empty()) keep_cheaper(place_on_slots(request_, groups, PlaceBy::kLlc));
    problem_.levels = levels_of(problem_.ranks.skeleton(), problem_.over_nodes);
    if (tree_.ranks <= tuning::kAllStarts) {
      keep_cheaper(*map_random(request_, ""));
      keep_cheaper(
          place_on_slots(request_, locality_start(tree_distances(request_.machine), problem_.ranks,
                                                  problem_.over_nodes, problem_.levels)
                                       .part));
      keep_cheaper(*map_ondeloc(request_, ""));
    }
    take_best_start();
  }
  void take_best_start() {
    best_start_ = llcs_of(request_, mapping_);
    simple_ = mapping_;
    simple_cost_ = cost_;
  }
  // If the costs are equal, the kept mapping stays, or with `or_equal` the new one replaces it.
  void keep_cheaper(Mapping mapping, bool or_equal = false) {
    const bool is_first = mapping_.empty();
    const double cost = cost_of(mapping, is_first || or_equal ? kNoLimit : cost_);
    if (!is_first && (or_equal ? is_less(cost_, cost) : !is_less(cost, cost_))) return;
    cost_ = cost;
    mapping_ = std::move(mapping);
  }
  // At equal cost, a start has its ranks in order, and what was found is nearer to the present
  // mapping.
  void keep_found() { keep_cheaper(to_mapping(), !previous_.empty()); }
  // Returns the cost of evaluate(), or a number above `limit` if the cost is above `limit`.
  double cost_of(const Mapping& mapping, double limit = kNoLimit) const {
    if (tree_.is_exact()) return tree_cost(tree_, llcs_of(request_, mapping), limit, scratch_);
    return evaluate(request_.model, request_.slots, *request_.raw, mapping, request_.off_node)
        .total;
  }

  const MapRequest& request_;
  int effort_;
  TreeProblem problem_;
  const TreeTarget& tree_ = problem_.tree;
  const Part& previous_ = problem_.previous;
  TreeSearch search_;
  Mapping mapping_;  // the cheapest mapping so far
  double cost_ = 0, now_ = 0;
  Mapping simple_;  // the cheapest start: the first one, packed, of those that cost the same
  double simple_cost_ = 0;
  Part best_start_, cheapest_seen_;
  mutable TreeLoads scratch_;
};

}  // namespace

Mapping solve_on_tree(const MapRequest& request, int effort) {
  Mapping mapping = TreeSolver(request, effort).run();
  if (mapping.size() < request.slots.size()) use_idle_cores(request, mapping);
  return mapping;
}

}  // namespace ondeloc::coordinated
