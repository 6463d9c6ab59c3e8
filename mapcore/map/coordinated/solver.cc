// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/solver.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

#include "mapcore/map/coordinated/component_start.h"
#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/sweep.h"
#include "mapcore/map/coordinated/tuning.h"
#include "mapcore/map/coordinated/valuation.h"

namespace ondeloc::coordinated {
namespace {

class Solver {
 public:
  explicit Solver(const Problem& problem)
      : problem_(problem),
        ranks_(problem.ranks),
        graph_(problem.ranks.view),
        target_(problem.target),
        previous_(problem.previous) {}

  Part run() {
    if (problem_.effort < 1) return quick();
    const double least = least_cost(ranks_.rows, target_);
    if (!previous_.empty()) {
      now_ = value_of(graph_, target_, previous_, scratch_);
      if (!is_less(least, now_.cost)) return previous_;
    }
    value_starts(least);
    if (!is_start_optimal(least)) {
      const Levels levels = levels_of(ranks_.skeleton(), target_);
      if (graph_.vertices <= tuning::kAllStarts) consider_locality(levels);
      if (!previous_.empty() && needs_no_change(levels)) return previous_;
      solve(levels);
      search().search_on(ranks_.skeleton(), problem_.effort - 1);
    } else {
      // Steps from the present mapping often lead to one of the same cost, with fewer moves.
      search().offer(previous_);
      search().adopt(start_);
    }
    if (previous_.empty()) return in_order();
    if (search().value().cost > now_.cost * (1 - tuning::kWorthMoving)) return previous_;
    return search().relabel_to_previous(previous_);
  }

 private:
  void consider(Part part) {
    if (part.empty() || part == previous_) return;
    const double limit = most_of_interest();
    const Value value = value_of(graph_, target_, part, scratch_, limit);
    if (is_less(limit, value.cost) || (!start_.empty() && !is_better(value, start_value_))) return;
    start_value_ = value;
    start_ = std::move(part);
  }

  // The better of a multilevel solution and of blocks of ranks that merging gives, each refined
  // once.
  Part quick() {
    const Graph& skeleton = ranks_.skeleton();
    const bool is_rough = problem_.effort < 0;
    Part part = coarse_solution(skeleton, target_,
                                problem_.levels ? *problem_.levels : levels_of(skeleton, target_),
                                is_rough ? Solution::kRough : Solution::kGood);
    if (part.empty()) part = packed_start(graph_, target_);
    if (is_rough) return part;
    search().offer(part);
    search().offer(block_start(skeleton, target_));
    return previous_.empty() ? search().best() : search().relabel_to_previous(previous_);
  }

  // Without a previous partition: the cheapest start if the best partition is hardly better, else
  // the best one, with its nodes in the order of ranks.
  Part in_order() {
    const Value& best = search().value();
    const bool is_worth_it = best.cost < start_value_.cost * (1 - tuning::kWorthDisorder) ||
                             is_less_remote(best.remote, start_value_.remote);
    if (!is_worth_it) return start_;
    return in_order_of_ranks(target_, search().best());
  }

  void value_starts(double least) {
    consider(packed_start(graph_, target_));
    if (is_start_optimal(least)) return;
    consider(groups_start());
    if (graph_.vertices > tuning::kAllStarts) {
      consider(scatter_start(graph_, target_));
      return consider(balance_start(graph_, target_));
    }
    std::array parts = {scatter_start(graph_, target_), random_start(graph_, target_),
                        balance_start(graph_, target_),
                        ondeloc_start(ranks_.rows, target_, previous_)};
    const auto costs = least_costs(graph_, target_, parts);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!is_less(most_of_interest(), costs[p])) consider(std::move(parts[p]));
    }
  }

  Part groups_start() {
    std::vector<int> nodes(target_.capacity.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    return component_start(ranks_.skeleton(), ranks_.rows,
                           {target_.capacity, nodes, target_.per_byte});
  }

  // Returns the cost above which a start does not count.
  double most_of_interest() const {
    double most = start_.empty() ? std::numeric_limits<double>::infinity() : start_value_.cost;
    if (!previous_.empty()) most = std::min(most, tuning::kWithinReach * now_.cost);
    return most;
  }

  void consider_locality(const Levels& levels) {
    Start start = locality_start(problem_.distances, ranks_, target_, levels);
    least_remote_ = start.remote;
    consider(std::move(start.part));
  }

  bool is_start_optimal(double least) const {
    return !start_.empty() && !is_less(least, start_value_.cost);
  }

  Search& search() {
    if (!search_) search_.emplace(graph_, target_);
    return *search_;
  }

  bool needs_no_change(const Levels& levels) {
    if (!start_.empty() && is_better(start_value_, now_)) return false;
    if (!search().is_local_optimum(previous_)) return false;
    if (is_near_ideal()) return true;
    return !is_less(coarse_cost(ranks_.skeleton(), target_, levels), now_.cost);
  }

  // True if the present cost is close to that of loads as even as possible and of the bytes that
  // locality leaves between nodes. Locality minimises nothing else, so hardly any partition is
  // better.
  bool is_near_ideal() const {
    if (!least_remote_) return false;
    const double penalty = target_.uniform_penalty ? target_.penalty[1] : 0;
    return now_.cost < tuning::kNearIdeal * (target_.mean_load + *least_remote_ * penalty);
  }

  void solve(const Levels& levels) {
    if (!previous_.empty()) search().offer(previous_);
    consider(block_start(ranks_.skeleton(), target_));
    const Part coarse = coarse_solution(ranks_.skeleton(), target_, levels);
    const Value value = coarse.empty() ? Value() : value_of(graph_, target_, coarse, scratch_);
    const bool both = !start_.empty() && !coarse.empty();
    const bool fresh_first = start_.empty() || (both && is_better(value, start_value_));
    search().offer(fresh_first ? coarse : start_);
    const bool agreed = both && agree(value);
    const Part swept = agreed ? cheaper_sweep() : sweep_start(graph_, ranks_.rows, target_);
    if (agreed && swept.empty()) return search().settle();
    search().offer(swept);
    // The worse of the two is refined too if refinement may make it better than the other.
    if (both && is_within_reach(fresh_first ? start_value_ : value))
      search().offer(fresh_first ? start_ : coarse);
    search().cycle(ranks_.skeleton());
    search().polish();
  }

  // True if the fresh solution, the start and the refined better one have equal values.
  bool agree(const Value& fresh) {
    return graph_.vertices >= tuning::kFewestToAgree && are_equal(fresh, start_value_) &&
           are_equal(fresh, search().value());
  }

  // Merging and growing may both break a chain in the same wrong places. Returns a sweep if the
  // sweep costs less than the best partition.
  Part cheaper_sweep() {
    if (graph_.edges.size() > tuning::kSparseEdges * static_cast<std::size_t>(graph_.vertices))
      return {};
    const double best = search().value().cost;
    Part part = sweep_start(graph_, ranks_.rows, target_, best);
    if (part.empty() || !is_less(value_of(graph_, target_, part, scratch_, best).cost, best))
      return {};
    return part;
  }

  bool is_within_reach(const Value& value) {
    const double reach =
        graph_.vertices <= tuning::kFewToReach ? tuning::kWithinReachOfFew : tuning::kWithinReach;
    return value.cost < reach * search().value().cost;
  }

  const Problem& problem_;
  RankGraph& ranks_;
  const Graph& graph_;
  const Target& target_;
  const Part& previous_;
  std::optional<Search> search_;
  Scratch scratch_;
  // Bytes that locality leaves between nodes, if locality was computed.
  std::optional<double> least_remote_;
  Value now_;  // value of the present mapping
  Part start_;
  Value start_value_;
};

}  // namespace

Part solve_partition(const Problem& problem) { return Solver(problem).run(); }

}  // namespace ondeloc::coordinated
