// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/search.h"

#include <algorithm>

#include "mapcore/map/coordinated/relabel.h"

namespace ondeloc::coordinated {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
constexpr std::int64_t kCoarseWork = 2000;
constexpr double kSmoothing = 3;  // over the mean load: found on tests/data/npb and made inputs
constexpr int kHard = 64;         // a coarse graph up to this size is searched, not only refined

std::int64_t work_for(const Graph& graph) {
  const auto pairs = static_cast<std::int64_t>(graph.edges.size() / 2);
  return std::min<std::int64_t>(4000 + 25 * pairs, 600 * static_cast<std::int64_t>(graph.vertices));
}

}  // namespace

RankGraph::RankGraph(const MapRequest& request)
    : size(static_cast<std::size_t>(request.traffic.ranks()), 1) {
  const Traffic& traffic = request.traffic;
  strength.reserve(size.size());
  for (int i = 0; i < traffic.ranks(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    strength.push_back(traffic.strength(i) +
                       (at < request.off_node.size() ? request.off_node[at] : 0));
  }
  view = {traffic.ranks(), traffic.row_begins(), traffic.all_edges(), strength, size};
}

Search::Search(const Graph& graph, const Target& target)
    : graph_(graph), target_(target), state_(graph, target), refiner_(state_) {}

Value Search::value_of(const Part& part) {
  state_.reset(part);
  return state_.value();
}

bool Search::is_local_optimum(const Part& part) {
  state_.reset(part);
  return refiner_.is_local_optimum();
}

void Search::offer(const Part& part) {
  if (part.empty()) return;
  state_.reset(part);
  refine();
  if (target_.mean_load <= 0) return;
  state_.smooth(kSmoothing / target_.mean_load);
  refine();
  state_.smooth(0);
  refine();
}

void Search::polish() {
  state_.reset(best_);
  refiner_.allow(work_for(graph_));
  refiner_.iterate(1);
  keep_better();
}

Part Search::coarse_solution() {
  auto levels = coarsen_all(graph_, target_, std::max(4 * target_.nodes, 16));
  Part part;
  for (; !levels.empty(); levels.pop_back()) {
    const Graph coarse = levels.back().view();
    if (part.empty()) part = grow_start(coarse, target_);
    if (part.empty()) continue;
    State state(coarse, target_);
    state.reset(part);
    Refiner refiner(state);
    refiner.allow(kUnlimited);
    refiner.descend();
    if (coarse.vertices <= kHard) {
      refiner.allow(kCoarseWork);
      refiner.iterate(1);
    }
    part = project(levels.back(), state.part());
  }
  return part.empty() ? grow_start(graph_, target_) : part;
}

Part Search::stay_put(std::span<const int> previous) {
  state_.reset(relabel(target_, best_, previous));
  move_back(state_, previous);
  return {state_.part().begin(), state_.part().end()};
}

void Search::refine() {
  refiner_.allow(kUnlimited);
  refiner_.descend();
  if (state_.smoothing() == 0) keep_better();
}

void Search::keep_better() {
  if (!best_.empty() && !is_better(state_.value(), value_)) return;
  value_ = state_.value();
  best_.assign(state_.part().begin(), state_.part().end());
}

}  // namespace ondeloc::coordinated
