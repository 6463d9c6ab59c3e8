// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/component_start.h"
#include "mapcore/map/coordinated/cores.h"
#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/tree_exact.h"
#include "mapcore/map/coordinated/tree_groups.h"
#include "mapcore/map/coordinated/tree_order.h"
#include "mapcore/map/coordinated/tree_relaxed.h"
#include "mapcore/map/coordinated/tree_search.h"
#include "mapcore/map/coordinated/tree_valuation.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kRough = -1;  // effort of a solution to compare with
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool are_in_proportion(const CostModel& model, int ranks) {
  const double message_bytes = model.message_bytes(ranks);
  for (std::size_t at = 0; at < model.byte_cost.size(); ++at) {
    const double bytes = model.byte_factor(ranks) * model.byte_cost[at] * message_bytes;
    const double messages = model.message_factor(ranks) * model.message_cost[at];
    if (std::abs(messages - bytes) > tuning::kProportion * std::max(messages, bytes)) return false;
  }
  return true;
}

Part llcs_of(const MapRequest& request, const Mapping& mapping) {
  Part part;
  part.reserve(mapping.size());
  for (const SlotIndex slot : mapping) part.push_back(request.slots[slot.value].seat.llc.value);
  return part;
}

Part nodes_of(const TreeTarget& target, const Part& llcs) { return renamed(llcs, target.node_of); }

class TreeSolver {
 public:
  TreeSolver(const MapRequest& request, int effort)
      : request_(request),
        effort_(effort),
        ranks_(request),
        over_nodes_(Target::from(request, ranks_.strength)),
        tree_(request),
        previous_(llcs_of(request, request.previous)),
        search_(tree_, descent_limit()) {}

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
      offer_best_of(solve_afresh());
    } else {
      offer_fresh_and_start(solve_afresh());
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
  // True if some ranks exchange more with each other than with all others, which send alike to all.
  // Packages with even loads may have nodes then with one heavy pair more than the others, and no
  // single move or swap takes a pair to another node.
  bool has_few_heavy() {
    const Graph& skeleton = ranks_.skeleton();
    if (!skeleton.is_thinned || skeleton.edges.empty()) return false;
    for (int i = 0; i < skeleton.vertices; ++i)
      if (skeleton.row(i).empty()) return true;
    return false;
  }
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
      search_.offer(solve_inside(nodes_of(tree_, previous_)));
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
    const Part fresh = solve_inside(solve_nodes(kRough), kRough);
    const double now = tree_cost(tree_, previous_, kNoLimit, scratch_);
    return !is_less(tree_cost(tree_, fresh, now, scratch_), now);
  }

  // For few ranks: partitions into halves, and searches on smoother costs (tree_relaxed.h).
  void offer_halves_and_relaxed() {
    search_.offer(solve_halves());
    for (const Relaxation& how : tuning::kRelaxations)
      offer_relaxed(search_.best(), how, tuning::kRelaxedWork * tree_.ranks);
  }

  // For more ranks: descents take most of the time, so there are two from the cheapest start, one
  // of them by way of a smoother cost, besides the one from the present mapping.
  void offer_best_of(const Part& fresh) {
    offer_previous(fresh);
    for (const Part& part : {fresh, solve_halves(), best_start_}) search_.adopt(part);
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
    search_.offer(solve_inside(solve_nodes(tuning::kTreeNodeEffort), 1));
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
    return place_on_slots(request_, balance_start(ranks_.view, over_nodes_));
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
    const Part groups = component_start(ranks_.skeleton(), ranks_.rows,
                                        {tree_.capacity, tree_.node_of, tree_.per_node});
    if (!groups.empty()) keep_cheaper(place_on_slots(request_, groups, PlaceBy::kLlc));
    levels_ = levels_of(ranks_.skeleton(), over_nodes_);
    if (tree_.ranks <= tuning::kAllStarts) {
      keep_cheaper(*map_random(request_, ""));
      keep_cheaper(place_on_slots(
          request_,
          locality_start(tree_distances(request_.machine), ranks_, over_nodes_, levels_).part));
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

  Part solve_afresh() {
    const CacheGroups packages = packages_of(tree_, request_.model);
    if (packages.empty()) return solve_inside(solve_nodes(is_sparse() ? 1 : 0));
    Part by_packages = solve_packages(packages);
    if (!has_few_heavy()) return by_packages;
    Part by_nodes = solve_inside(solve_nodes(0));
    const double of_packages = tree_cost(tree_, by_packages, kNoLimit, scratch_);
    const bool is_less = tree_cost(tree_, by_nodes, kNoLimit, scratch_) < of_packages;
    return is_less ? std::move(by_nodes) : std::move(by_packages);
  }

  Part solve_nodes(int effort) {
    const Part previous = previous_.empty() ? Part() : nodes_of(tree_, previous_);
    if (has_nothing_to_gain(over_nodes_))
      return previous.empty() ? packed_start(ranks_.view, over_nodes_) : previous;
    const std::vector<double> distances = tree_distances(request_.machine);
    return solve_partition({ranks_, over_nodes_, distances, previous, effort, &levels_});
  }

  // Partitions the ranks of every node over the caches of the node.
  Part solve_inside(const Part& over_nodes, int effort = 0) const {
    return solve_inside(over_nodes, caches_by_node(tree_), effort);
  }

  Part solve_inside(const Part& over_groups, const CacheGroups& groups, int effort) const {
    Part part(over_groups.size(), 0);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<int> members;
      for (std::size_t i = 0; i < over_groups.size(); ++i)
        if (over_groups[i] == static_cast<int>(g)) members.push_back(static_cast<int>(i));
      if (members.empty()) continue;
      const Part own = solve_node(members, groups[g], effort);
      for (std::size_t i = 0; i < members.size(); ++i) part[members[i]] = groups[g][own[i]];
    }
    return part;
  }

  Part solve_node(const std::vector<int>& members, const std::vector<int>& llcs, int effort) const {
    RankGraph ranks(ranks_.view, members);
    Part previous;
    for (const int rank : members) {
      if (previous_.empty()) break;
      const auto at = std::find(llcs.begin(), llcs.end(), previous_[rank]);
      if (at == llcs.end()) continue;
      previous.push_back(static_cast<int>(at - llcs.begin()));
    }
    // If some ranks come from other nodes, there is no previous partition of this node.
    if (previous.size() != members.size()) previous.clear();
    return solve_groups(ranks, each_alone(llcs), previous, effort);
  }

  Part solve_groups(RankGraph& ranks, const CacheGroups& groups, const Part& previous,
                    int effort) const {
    const Target target = target_over(groups, tree_, request_.model, ranks);
    if (has_nothing_to_gain(target))
      return previous.empty() ? packed_start(ranks.view, target) : previous;
    std::vector<double> distances(groups.size() * groups.size(), 1);
    for (std::size_t g = 0; g < groups.size(); ++g) distances[g * groups.size() + g] = 0;
    return solve_partition({ranks, target, distances, previous, effort});
  }

  // Partitions the ranks over two halves of the caches, then over the halves of each half, and so
  // on. Parts of a grid are stripes then, in which all ranks have as many partners outside; a
  // partition over all caches at once has corners. Returns an empty partition for two caches: their
  // halves are the partition over all.
  Part solve_halves() const {
    if (tree_.llcs < 3) return {};
    std::vector<int> members(static_cast<std::size_t>(tree_.ranks)), llcs;
    std::iota(members.begin(), members.end(), 0);
    for (const std::vector<int>& node : caches_by_node(tree_))
      llcs.insert(llcs.end(), node.begin(), node.end());
    Part part(members.size(), 0);
    halve(members, llcs, part);
    return part;
  }
  void halve(const std::vector<int>& members, const std::vector<int>& llcs, Part& part) const {
    if (llcs.size() == 1 || members.empty()) {
      for (const int rank : members) part[rank] = llcs.front();
      return;
    }
    const auto middle = llcs.begin() + static_cast<std::ptrdiff_t>(llcs.size() / 2);
    const CacheGroups halves = {{llcs.begin(), middle}, {middle, llcs.end()}};
    RankGraph ranks(ranks_.view, members, tuning::kFarOfHalves);
    const Part own = solve_groups(ranks, halves, {}, effort_of_halves());
    for (std::size_t half = 0; half < halves.size(); ++half) {
      std::vector<int> inside;
      for (std::size_t i = 0; i < members.size(); ++i)
        if (own[i] == static_cast<int>(half)) inside.push_back(members[i]);
      halve(inside, halves[half], part);
    }
  }
  int effort_of_halves() const {
    if (tree_.ranks <= tuning::kFewOnTree) return tuning::kHalvesEffort;
    return is_sparse() ? 1 : kRough;
  }
  bool is_sparse() const {
    return ranks_.view.edges.size() <= tuning::kSparseEdges * ranks_.strength.size();
  }

  // Partitions the ranks over the packages, and then over all caches of each.
  Part solve_packages(const CacheGroups& packages) {
    Part previous;
    for (const int llc : previous_)
      for (std::size_t g = 0; g < packages.size(); ++g)
        if (std::count(packages[g].begin(), packages[g].end(), llc) > 0)
          previous.push_back(static_cast<int>(g));
    return solve_inside(solve_groups(ranks_, packages, previous, 0), packages, 0);
  }

  const MapRequest& request_;
  int effort_;
  RankGraph ranks_;
  Target over_nodes_;  // the target of the partition over the nodes
  Levels levels_;      // of the ranks, for that target
  TreeTarget tree_;
  Part previous_;
  TreeSearch search_;
  Mapping mapping_;  // the cheapest mapping so far
  double cost_ = 0, now_ = 0;
  Mapping simple_;  // the cheapest start: the first one, packed, of those that cost the same
  double simple_cost_ = 0;
  Part best_start_, cheapest_seen_;
  mutable TreeLoads scratch_;
};

}  // namespace

bool nodes_tell_all(const MapRequest& request) {
  const CostModel& model = request.model;
  if (model.llcs != model.nodes || !model.port.empty() || model.knows_ranks) return false;
  if (model.adapters.count(request.off_node)) return false;
  const auto pairs = static_cast<std::size_t>(model.nodes * (model.nodes - 1) / 2);
  if (model.link_capacity.size() != pairs) return false;
  const Traffic& raw = *request.raw;
  if (model.weight == Weight::kBytes || raw.total_messages() == 0)
    return !model.byte_cost_is_shared;
  if (model.weight == Weight::kTime && !are_in_proportion(model, raw.ranks())) return false;
  std::map<std::pair<int, int>, int> cores, l2s;
  for (const Slot& slot : request.slots) {
    if (slot.seat.core >= 0 && ++cores[{slot.seat.llc.value, slot.seat.core}] > 1) return false;
    if (slot.seat.l2 >= 0 && ++l2s[{slot.seat.llc.value, slot.seat.l2}] > 1 &&
        model.message_cost_inside[1] != model.message_cost_inside[2])
      return false;
  }
  return true;
}

Mapping solve_on_tree(const MapRequest& request, int effort) {
  Mapping mapping = TreeSolver(request, effort).run();
  if (mapping.size() < request.slots.size()) use_idle_cores(request, mapping);
  return mapping;
}

}  // namespace ondeloc::coordinated
