// SPDX-License-Identifier: Apache-2.0
// coordinated: few bytes between nodes and no node overloaded, both at once.
//
// k-way assignment of ranks to NUMA nodes that minimises exactly what evaluate() predicts, by moves
// and swaps with gains kept incrementally (refine.h, state.h). Starts: the present mapping, packed,
// scatter, random, balance, locality's and multilevel's growth, ondeloc, so that the result is
// never worse than any of them (above 256 ranks packed, scatter and balance only). Steps:
//
//   0. what costs no more than a lower bound of all partitions (valuation.h) is kept at once;
//   1. every start is valued; if the present mapping is a local optimum, no start is better and a
//      fresh solution of the coarsest graph costs no less, it is kept: the usual interval. That
//      solution is not asked for where even loads and what locality leaves cost hardly less;
//   2. the best start or the blocks that merging gives, and a multilevel solution are refined, on
//      the smoothed cost too. Where both are equally good and refinement finds nothing, that is
//      taken for the optimum: two ways that know nothing of each other seldom end in one place by
//      chance (124 of 478 cases of the benches and more of their kind; step 3 found nothing better
//      in any). Chains and plane grids, where they do (a shuffled chain of 48 ranks), are swept
//      first (sweep.h). All others that are sparse are refined from a sweep as well;
//   3. the best is perturbed and refined again, first as a graph of groups, then rank by rank, as
//      long as counted work lasts and brings something;
//   4. with coordinated:EFFORT the search goes on for as many rounds less one, whatever steps 2 and
//      3 have found: each refines another multilevel solution, of ranks merged in another order,
//      searches among other groups and has some times the work of step 3;
//   5. groups are named and ranks moved back so that as many as possible stay where they are; all
//      of them do where next to nothing is gained.
//
// No randomness but fixed seeds, no clock, comparisons with a relative tolerance only: the same
// request, or the same scaled by a power of two, gives the same mapping.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/search.h"
#include "mapcore/map/coordinated/sweep.h"
#include "mapcore/map/coordinated/valuation.h"

namespace ondeloc {
namespace {

using namespace coordinated;

constexpr int kAllStarts = 256;        // ranks up to which all starts are valued
constexpr double kWithinReach = 1.03;  // of the best cost: starts beyond it do not catch up
constexpr int kSmall = 64;             // ranks up to which they may
constexpr double kReachSmall = 1.2;
constexpr double kWorthMoving = 1e-6;  // of the cost: no rank is moved for less
constexpr double kNearIdeal = 1.02;    // less is not worth a remap: mapcore/map/decide.h
// Ranks from which two ways that meet are believed: with fewer they were seen to meet in less than
// the best.
constexpr int kFewestToAgree = 32;
constexpr std::size_t kSparse = 4;  // edges of a rank, on average: chains and plane grids

Part nodes_of(const MapRequest& request) {
  Part part;
  part.reserve(request.previous.size());
  for (const SlotIndex slot : request.previous)
    part.push_back(request.slots[static_cast<std::size_t>(slot.value)].node.value);
  return part;
}

class Solver {
 public:
  Solver(const MapRequest& request, RankGraph& ranks, const Target& target, const Part& previous,
         int effort)
      : request_(request),
        ranks_(ranks),
        graph_(ranks.view),
        target_(target),
        previous_(previous),
        effort_(effort) {}

  Part run() {
    const double least = least_cost(ranks_.rows, target_);
    if (!previous_.empty()) {
      now_ = value_of(graph_, target_, previous_, scratch_);
      if (!is_less(least, now_.cost)) return previous_;
    }
    value_starts(least);
    if (!is_start_optimal(least)) {
      const Levels levels = levels_of(ranks_.skeleton(), target_);
      if (graph_.vertices <= kAllStarts) consider_locality(levels);
      if (!previous_.empty() && needs_no_change(levels)) return previous_;
      solve(levels);
      search().search_on(ranks_.skeleton(), effort_ - 1);
    } else {
      search().adopt(start_);
    }
    if (previous_.empty()) return search().best();
    if (search().value().cost > now_.cost * (1 - kWorthMoving)) return previous_;
    return search().stay_put(previous_);
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

  void value_starts(double least) {
    consider(packed_start(graph_, target_));
    if (is_start_optimal(least)) return;
    if (graph_.vertices > kAllStarts) {
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

  // What costs more is no start that counts.
  double most_of_interest() const {
    double most = start_.empty() ? std::numeric_limits<double>::infinity() : start_value_.cost;
    if (!previous_.empty()) most = std::min(most, kWithinReach * now_.cost);
    return most;
  }

  void consider_locality(const Levels& levels) {
    Start start = locality_start(request_, ranks_, target_, levels);
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

  // Loads as even as can be and no more bytes between nodes than locality leaves, which looks at
  // nothing else: there is hardly anything better.
  bool is_near_ideal() const {
    if (!least_remote_) return false;
    const double penalty = target_.uniform_penalty ? target_.penalty[1] : 0;
    return now_.cost < kNearIdeal * (target_.mean_load + *least_remote_ * penalty);
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
    // The worse one where refinement may bring it past the better one.
    if (both && is_within_reach(fresh_first ? start_value_ : value))
      search().offer(fresh_first ? start_ : coarse);
    search().cycle(ranks_.skeleton());
    search().polish();
  }

  // The fresh solution, the start and what refinement made of the better one.
  bool agree(const Value& fresh) {
    return graph_.vertices >= kFewestToAgree && are_equal(fresh, start_value_) &&
           are_equal(fresh, search().value());
  }

  // Merging and growing may both break a chain in the same wrong places.
  Part cheaper_sweep() {
    if (graph_.edges.size() > kSparse * static_cast<std::size_t>(graph_.vertices)) return {};
    const double best = search().value().cost;
    Part part = sweep_start(graph_, ranks_.rows, target_, best);
    if (part.empty() || !is_less(value_of(graph_, target_, part, scratch_, best).cost, best))
      return {};
    return part;
  }

  bool is_within_reach(const Value& value) {
    const double reach = graph_.vertices <= kSmall ? kReachSmall : kWithinReach;
    return value.cost < reach * search().value().cost;
  }

  const MapRequest& request_;
  RankGraph& ranks_;
  const Graph& graph_;
  const Target& target_;
  const Part& previous_;
  int effort_;
  std::optional<Search> search_;
  Scratch scratch_;
  std::optional<double> least_remote_;  // bytes between nodes that locality leaves, where asked
  Value now_;                           // of the present mapping
  Part start_;
  Value start_value_;
};

}  // namespace

Result<Mapping> map_coordinated(const MapRequest& request, std::string_view argument) {
  const auto effort = static_cast<int>(parse_unsigned(argument, kMostEffort).value_or(1));
  RankGraph ranks(request);
  const Graph& graph = ranks.view;
  const Target target = Target::from(request, ranks.strength);
  const Part previous = nodes_of(request);
  const bool nothing_to_gain = target.mean_load <= 0 || target.usable < 2;
  if (nothing_to_gain)
    return place_on_slots(request, previous.empty() ? packed_start(graph, target) : previous);
  return place_on_slots(request, Solver(request, ranks, target, previous, effort).run());
}

}  // namespace ondeloc
