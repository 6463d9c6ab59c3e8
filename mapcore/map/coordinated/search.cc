// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/search.h"

#include <algorithm>
#include <limits>

#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

// Returns about the work that a general partitioner needs. Graphs with few vertices get more work,
// which takes some 0.1 ms: with the usual work, stencils of 24 and 27 ranks stayed 3 to 8 % above
// the cost that annealing finds.
std::int64_t work_for(const Graph& graph) {
  const auto pairs = static_cast<std::int64_t>(graph.edges.size() / 2);
  const auto n = static_cast<std::int64_t>(graph.vertices);
  const std::int64_t least = n < tuning::kFewVertices ? tuning::kPairWork * n * n : 0;
  return std::max(least, std::min<std::int64_t>(tuning::kBaseWork + tuning::kEdgeWork * pairs,
                                                tuning::kVertexWork * n));
}

// If distances differ, there are many more partitions that do not become equal by renaming nodes.
std::int64_t work_for(const Graph& graph, const Target& target) {
  const std::int64_t work = work_for(graph);
  return target.uniform_penalty ? work : work * std::max(4, target.usable * target.usable) / 4;
}

// Returns the work without success after which a search with this much work ends.
constexpr std::int64_t patience_for(std::int64_t work) { return 3 * work / 10; }

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
  view = {traffic.ranks(),         traffic.row_begins(), traffic.all_edges(), strength, size,
          heavy_strength(strength)};
  rows = rows_of(view);
}

RankGraph::RankGraph(const Graph& whole, std::span<const int> members, double far)
    : size(members.size(), 1) {
  std::vector<int> own(static_cast<std::size_t>(whole.vertices), -1);
  for (std::size_t i = 0; i < members.size(); ++i) own[members[i]] = static_cast<int>(i);
  std::vector<double> outside(own.size());
  for (const int vertex : members) {
    double all = 0;
    for (const Traffic::Edge& edge : whole.row(vertex)) {
      all += edge.bytes;
      if (own[edge.peer] < 0) outside[vertex] += edge.bytes;
    }
    if (all > 0) outside[vertex] /= all;
  }
  own_begin_.reserve(members.size() + 1);
  own_begin_.push_back(0);
  strength.reserve(members.size());
  for (const int vertex : members) {
    double inside = 0;
    for (const Traffic::Edge& edge : whole.row(vertex)) {
      if (own[edge.peer] < 0) continue;
      const double bytes = edge.bytes * (1 + far * (outside[vertex] + outside[edge.peer]));
      own_edges_.push_back({own[edge.peer], bytes});
      inside += bytes;
    }
    strength.push_back(inside);
    own_begin_.push_back(own_edges_.size());
  }
  view = {static_cast<int>(members.size()), own_begin_, own_edges_, strength, size,
          heavy_strength(strength)};
  rows = rows_of(view);
}

const Graph& RankGraph::skeleton() {
  if (skeleton_.vertices > 0) return skeleton_;
  skeleton_ = view;
  if (view.edges.size() > tuning::kDenseEdges * size.size()) keep_heavy_edges();
  return skeleton_;
}

void RankGraph::keep_heavy_edges() {
  std::vector<double> mean;
  mean.reserve(size.size());
  for (int i = 0; i < view.vertices; ++i) {
    const double bytes = rows[i].bytes;
    mean.push_back(bytes > 0 ? tuning::kHeavyEdge * bytes / static_cast<double>(view.row(i).size())
                             : 0);
  }
  begin_.reserve(size.size() + 1);
  begin_.push_back(0);
  for (std::size_t i = 0; i < size.size(); ++i) {
    for (const Traffic::Edge& edge : view.row(static_cast<int>(i))) {
      if (edge.bytes > std::min(mean[i], mean[edge.peer])) edges_.push_back(edge);
    }
    begin_.push_back(edges_.size());
  }
  skeleton_.begin = begin_;
  skeleton_.edges = edges_;
  skeleton_.is_thinned = true;
}

Search::Search(const Graph& graph, const Target& target)
    : graph_(graph), target_(target), state_(graph, target), refiner_(state_) {}

bool Search::is_local_optimum(const Part& part) {
  state_.reset(part);
  return refiner_.is_local_optimum();
}

void Search::adopt(const Part& part) {
  state_.reset(part);
  keep_better();
}

void Search::offer(const Part& part) {
  if (part.empty()) return;
  state_.reset(part);
  keep_better();
  // Large graphs were already balanced while they were coarse.
  if (target_.mean_load > 0 && graph_.vertices <= tuning::kFewToSmooth) {
    state_.smooth(tuning::kSmoothing / target_.mean_load);
    refine();
    state_.smooth(0);
  }
  refine();
}

void Search::cycle(const Graph& skeleton, std::uint64_t shuffle) {
  if (skeleton.edges.empty()) return;
  const Levels levels = coarsen_all(skeleton, target_, 2 * target_.usable, best_, shuffle);
  std::vector<Part> parts{best_};
  for (const CoarseGraph& level : levels) parts.push_back(part_of_groups(level, parts.back()));
  Part part = parts.back();
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Graph coarse = level->view();
    State state(coarse, target_);
    state.reset(part);
    state.smooth(tuning::kSmoothing / target_.mean_load);
    Refiner refiner(state);
    const std::int64_t work = tuning::kCycleWork * state.vertices();
    refiner.allow(work);
    refiner.iterate(1 + shuffle, patience_for(work));
    part = project(*level, state.part());
  }
  offer(part);
}

void Search::polish() {
  const std::int64_t work = work_for(graph_, target_);
  state_.reset(best_);
  state_.smooth(tuning::kSmoothing / target_.mean_load);
  refiner_.allow(3 * work / 10);
  refiner_.iterate(tuning::kSeed, patience_for(work));
  state_.smooth(0);
  refine();
  search_round_best(tuning::kSeed + 1, 7 * work / 10, patience_for(work));
  settle();
}

void Search::search_on(const Graph& skeleton, int rounds) {
  const std::int64_t work = tuning::kRoundWork * work_for(graph_);
  for (int round = 0; round < rounds; ++round) {
    const auto shuffle = static_cast<std::uint64_t>(round) + 1;
    offer(coarse_solution(skeleton, target_, levels_of(skeleton, target_, shuffle)));
    cycle(skeleton, shuffle);
    search_round_best(tuning::kSeed + 2 + static_cast<std::uint64_t>(round), work, work);
    settle();
  }
}

void Search::search_round_best(std::uint64_t seed, std::int64_t work, std::int64_t patience) {
  state_.reset(best_);
  refiner_.allow(work);
  refiner_.iterate(seed, patience);
  keep_better();
}

// A search by kicks refines only the surroundings of its kicks. This function makes the best
// partition a local optimum as a whole, so that a call that starts from this partition keeps it.
void Search::settle() {
  if (graph_.vertices <= tuning::kFewToSmooth) return;
  for (int turn = 0; turn < tuning::kSettleRounds && !is_local_optimum(best_); ++turn) refine();
}

Levels levels_of(const Graph& graph, const Target& target, std::uint64_t shuffle) {
  return coarsen_all(graph, target, std::max(4 * target.usable, 16), {}, shuffle);
}

namespace {

void refine_coarse(State& state, Refiner& refiner, const Part& part) {
  state.reset(part);
  refiner.allow(tuning::kUnlimitedWork);
  const double mean = state.target().mean_load;
  if (mean > 0) {
    state.smooth(tuning::kSmoothing / mean);
    refiner.descend();
    state.smooth(0);
  }
  refiner.descend();
}

}  // namespace

Part coarse_solution(const Graph& graph, const Target& target, const Levels& levels,
                     Solution solution) {
  Part part;
  if (graph.edges.empty()) return part;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Graph coarse = level->view();
    const bool first = part.empty();
    if (first) part = grow_start(coarse, target, GrowBy::kBytes);
    if (part.empty()) continue;
    if (solution == Solution::kRough && !first) {
      part = project(*level, part);
      continue;
    }
    State state(coarse, target);
    Refiner refiner(state);
    refine_coarse(state, refiner, part);
    if (first && solution == Solution::kGood) {
      refiner.allow(tuning::kCoarseWork);
      refiner.iterate(1, patience_for(tuning::kCoarseWork));
    }
    part = project(*level, state.part());
  }
  return part.empty() ? grow_start(graph, target, GrowBy::kBytes) : part;
}

double coarse_cost(const Graph& graph, const Target& target, const Levels& levels) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (graph.edges.empty() || levels.empty()) return kNone;
  const Graph coarse = levels.back().view();
  const Part part = grow_start(coarse, target, GrowBy::kBytes);
  if (part.empty()) return kNone;
  State state(coarse, target);
  Refiner refiner(state);
  refine_coarse(state, refiner, part);
  return state.value().cost;
}

Part Search::relabel_to_previous(std::span<const int> previous) {
  state_.reset(relabel(target_, best_, previous));
  move_back(state_, previous);
  return {state_.part().begin(), state_.part().end()};
}

void Search::refine() {
  refiner_.allow(tuning::kUnlimitedWork);
  refiner_.descend();
  if (state_.smoothing() == 0) keep_better();
}

void Search::keep_better() {
  if (!best_.empty() && !is_better(state_.value(), value_)) return;
  value_ = state_.value();
  best_.assign(state_.part().begin(), state_.part().end());
}

}  // namespace ondeloc::coordinated
