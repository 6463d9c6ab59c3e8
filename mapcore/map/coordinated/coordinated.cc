// SPDX-License-Identifier: Apache-2.0
// coordinated: few bytes between nodes and no node overloaded, both at once.
//
// k-way assignment of ranks to NUMA nodes that minimises exactly what evaluate() predicts, by moves
// and swaps with gains kept incrementally (refine.h, state.h). Starts: the present mapping, packed,
// scatter, random, balance, locality's and multilevel's growth, ondeloc, so that the result is
// never worse than any of them. Steps:
//
//   1. every start is valued; if the present mapping is a local optimum, no start is better and a
//      fresh solution on the coarsened graph is not better either, it is kept: the usual interval;
//   2. the best starts and a multilevel solution are refined, each also on the smoothed cost;
//   3. the best is perturbed and refined again while counted work lasts (about the work that a
//      general partitioner needs for the same graph);
//   4. groups are named and ranks moved back so that as many as possible stay where they are.
//
// No randomness but fixed seeds, no clock, comparisons with a relative tolerance only: the same
// request, or the same scaled by a power of two, gives the same mapping.
#include <algorithm>

#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/search.h"

namespace ondeloc {
namespace {

using namespace coordinated;

constexpr int kSmall = 64;             // ranks up to which every start is refined that is the best
constexpr double kWithinReach = 1.03;  // of the best cost: starts beyond it do not catch up

Part nodes_of(const MapRequest& request) {
  Part part;
  part.reserve(request.previous.size());
  for (const SlotIndex slot : request.previous)
    part.push_back(request.slots[static_cast<std::size_t>(slot.value)].node.value);
  return part;
}

// All starts but the present mapping, the best value first.
std::vector<Part> sorted_starts(Search& search, const MapRequest& request, const RankGraph& ranks,
                                const Target& target, std::span<const int> previous) {
  const Graph& graph = ranks.view;
  std::vector<std::pair<Value, Part>> valued;
  auto add = [&](Part part) {
    const Value value = search.value_of(part);
    valued.emplace_back(value, std::move(part));
  };
  add(packed_start(graph, target));
  add(scatter_start(graph, target));
  add(random_start(graph, target));
  add(balance_start(graph, target));
  add(locality_start(request, ranks));
  add(ondeloc_start(graph, target, previous));
  std::stable_sort(valued.begin(), valued.end(),
                   [](const auto& a, const auto& b) { return is_better(a.first, b.first); });
  std::vector<Part> starts;
  for (auto& [value, part] : valued) starts.push_back(std::move(part));
  return starts;
}

bool needs_no_change(Search& search, const Part& previous, const Part& best_start,
                     const Part& coarse) {
  const Value now = search.value_of(previous);
  if (is_better(search.value_of(best_start), now)) return false;
  if (!coarse.empty() && is_better(search.value_of(coarse), now)) return false;
  return search.is_local_optimum(previous);
}

Part solve(const MapRequest& request, const RankGraph& ranks, const Target& target,
           const Part& previous) {
  const Graph& graph = ranks.view;
  Search search(graph, target);
  const auto starts = sorted_starts(search, request, ranks, target, previous);
  const Part coarse = search.coarse_solution();
  if (!previous.empty()) {
    if (needs_no_change(search, previous, starts.front(), coarse)) return previous;
    search.offer(previous);
  }
  search.offer(coarse);
  // A start far behind what is there does not catch up on large graphs.
  if (graph.vertices <= kSmall ||
      search.value_of(starts[0]).cost < kWithinReach * search.value().cost)
    search.offer(starts[0]);
  search.polish();
  if (previous.empty()) return search.best();
  const Value now = search.value_of(previous);
  if (!is_less(search.value().cost, now.cost)) return previous;
  return search.stay_put(previous);
}

}  // namespace

Result<Mapping> map_coordinated(const MapRequest& request, std::string_view) {
  const RankGraph ranks(request);
  const Graph& graph = ranks.view;
  const Target target = Target::from(request, ranks.strength);
  const Part previous = nodes_of(request);
  const bool nothing_to_gain = request.traffic.total() <= 0 || target.nodes < 2;
  if (nothing_to_gain)
    return place_on_slots(request, previous.empty() ? packed_start(graph, target) : previous);
  return place_on_slots(request, solve(request, ranks, target, previous));
}

}  // namespace ondeloc
