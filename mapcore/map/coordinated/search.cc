// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/search.h"

#include <algorithm>

#include "mapcore/map/coordinated/relabel.h"

namespace ondeloc::coordinated {
namespace {

constexpr std::uint64_t kSeed = 5;  // found on tests/data/npb
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
constexpr std::int64_t kCoarseWork = 2000;
constexpr std::size_t kDense = 64;  // edges of a rank
constexpr double kHeavy = 1.01;     // over the mean edge: rounding makes no edge heavy
constexpr double kSmoothing = 3;    // over the mean load: found on tests/data/npb and made inputs

std::int64_t work_for(const Graph& graph) {
  const auto pairs = static_cast<std::int64_t>(graph.edges.size() / 2);
  return std::min<std::int64_t>(4000 + 25 * pairs, 100 * static_cast<std::int64_t>(graph.vertices));
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
  skeleton = view;
  if (view.edges.size() > kDense * size.size()) keep_heavy_edges(traffic);
}

void RankGraph::keep_heavy_edges(const Traffic& traffic) {
  std::vector<double> mean;
  mean.reserve(size.size());
  for (int i = 0; i < view.vertices; ++i) {
    const auto degree = static_cast<double>(view.row(i).size());
    mean.push_back(degree > 0 ? kHeavy * traffic.strength(i) / degree : 0);
  }
  begin_.reserve(size.size() + 1);
  begin_.push_back(0);
  for (std::size_t i = 0; i < size.size(); ++i) {
    for (const Traffic::Edge& edge : view.row(static_cast<int>(i))) {
      if (edge.bytes > std::min(mean[i], mean[static_cast<std::size_t>(edge.peer)]))
        edges_.push_back(edge);
    }
    begin_.push_back(edges_.size());
  }
  skeleton.begin = begin_;
  skeleton.edges = edges_;
}

Search::Search(const Graph& graph, const Target& target)
    : graph_(graph), target_(target), state_(graph, target), refiner_(state_) {}

Value Search::value_of(const Part& part) {
  state_.reset(part);
  return state_.value();
}

bool Search::is_local_optimum() { return refiner_.is_local_optimum(); }

void Search::offer(const Part& part) {
  if (part.empty()) return;
  state_.reset(part);
  keep_better();
  if (target_.mean_load > 0) {
    state_.smooth(kSmoothing / target_.mean_load);
    refine();
    state_.smooth(0);
  }
  refine();
}

void Search::cycle(const Graph& skeleton) {
  if (skeleton.edges.empty()) return;
  const Levels levels = coarsen_all(skeleton, target_, 2 * target_.nodes, best_);
  std::vector<Part> parts{best_};
  for (const CoarseGraph& level : levels) parts.push_back(part_of_groups(level, parts.back()));
  Part part = parts.back();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Graph coarse = level->view();
    State state(coarse, target_);
    state.reset(part);
    state.smooth(kSmoothing / target_.mean_load);
    Refiner refiner(state);
    refiner.allow(std::int64_t{30} * state.vertices());
    refiner.iterate(1);
    part = project(*level, state.part());
  }
  offer(part);
}

void Search::polish() {
  const std::int64_t work = work_for(graph_);
  state_.reset(best_);
  state_.smooth(kSmoothing / target_.mean_load);
  refiner_.allow(work / 2);
  refiner_.iterate(kSeed);
  state_.smooth(0);
  refine();
  state_.reset(best_);
  refiner_.allow(work / 2);
  refiner_.iterate(kSeed + 1);
  keep_better();
}

Levels levels_of(const Graph& graph, const Target& target) {
  return coarsen_all(graph, target, std::max(4 * target.nodes, 16));
}

Part coarse_solution(const Graph& graph, const Target& target, const Levels& levels, GrowBy by,
                     bool hard) {
  Part part;
  if (graph.edges.empty()) return part;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Graph coarse = level->view();
    const bool first = part.empty();
    if (first) part = grow_start(coarse, target, by);
    if (part.empty()) continue;
    State state(coarse, target);
    state.reset(part);
    Refiner refiner(state);
    refiner.allow(kUnlimited);
    refiner.descend();
    if (first && hard) {
      refiner.allow(kCoarseWork);
      refiner.iterate(1);
    }
    part = project(*level, state.part());
  }
  return part.empty() ? grow_start(graph, target, by) : part;
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
