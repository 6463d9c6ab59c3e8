// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/multilevel.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>

#include "mapcore/map/coordinated/random.h"

namespace ondeloc::coordinated {
namespace {

// Evaluates the conditions without branches, unlike &&.
bool all_of(std::initializer_list<bool> conditions) {
  int all = 1;
  for (const bool condition : conditions) all &= static_cast<int>(condition);
  return all != 0;
}

// Shuffles by Fisher and Yates.
std::vector<int> order_of(int vertices, std::uint64_t shuffle) {
  std::vector<int> order(static_cast<std::size_t>(vertices));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle == 0) return order;
  std::uint64_t random = random_from(shuffle);
  for (int left = vertices; left > 1; --left) {
    std::swap(order[static_cast<std::size_t>(left) - 1], order[below(random, left)]);
  }
  return order;
}

// Returns mate[i], the vertex that i is merged with, or i itself without such a vertex. The
// processor cannot predict which edge is the heaviest that may be merged, so the loop has no
// branches.
std::vector<int> match(const Graph& graph, const MatchLimits& limits, std::span<const int> part,
                       std::uint64_t shuffle) {
  std::vector<int> mate(static_cast<std::size_t>(graph.vertices), -1);
  for (const int i : order_of(graph.vertices, shuffle)) {
    const auto v = static_cast<std::size_t>(i);
    if (mate[v] >= 0) continue;
    mate[v] = i;
    const int size = graph.size[v];
    const double room = limits.strength - graph.strength[v];
    double most = 0;
    int best = i;
    const auto row = 2 * size <= limits.size ? graph.row(i) : std::span<const Traffic::Edge>();
    for (const Traffic::Edge& edge : row) {
      const auto peer = static_cast<std::size_t>(edge.peer);
      const bool can =
          all_of({mate[peer] < 0, most < edge.bytes, graph.size[peer] == size,
                  graph.strength[peer] <= room, part.empty() || part[peer] == part[v]});
      most = can ? edge.bytes : most;
      best = can ? edge.peer : best;
    }
    mate[v] = best;
    mate[best] = i;
  }
  return mate;
}

// Merges vertices without edges: each with the next of as many ranks.
void match_without_edges(const Graph& graph, const MatchLimits& limits, std::span<const int> part,
                         std::vector<int>& mate) {
  std::map<std::pair<int, int>, int> waiting;  // by part and number of ranks
  for (int i = 0; i < graph.vertices; ++i) {
    const int size = graph.size[i];
    if (mate[i] != i || !graph.row(i).empty() || 2 * size > limits.size) continue;
    int& other = waiting.try_emplace({part.empty() ? 0 : part[i], size}, -1).first->second;
    if (other < 0 || graph.strength[other] + graph.strength[i] > limits.strength) {
      other = i;
      continue;
    }
    mate[i] = other;
    mate[other] = i;
    other = -1;
  }
}

// Bytes between one group and every other group, while the edges of the one group are added up.
struct GroupSums {
  explicit GroupSums(int groups)
      : bytes(static_cast<std::size_t>(groups)), seen(static_cast<std::size_t>(groups) + 1) {}
  std::vector<double> bytes;  // 0: not seen
  std::vector<int> seen;      // groups in the order of the first edge; one place more than needed
  std::size_t count = 0;
};

void add_group_edges(const Graph& graph, const CoarseGraph& coarse, int vertex, GroupSums& sums) {
  for (const Traffic::Edge& edge : graph.row(vertex)) {
    const int peer = coarse.group_of[edge.peer];
    double& bytes = sums.bytes[peer];
    sums.seen[sums.count] = peer;
    sums.count += bytes == 0 ? 1 : 0;
    bytes += edge.bytes;
  }
}

void take_group_edges(CoarseGraph& coarse, GroupSums& sums) {
  for (std::size_t s = 0; s < sums.count; ++s) {
    double& bytes = sums.bytes[sums.seen[s]];
    coarse.edges.push_back({sums.seen[s], bytes});
    bytes = 0;
  }
  sums.count = 0;
}

}  // namespace

CoarseGraph coarsen(const Graph& graph, const MatchLimits& limits, std::span<const int> part,
                    std::uint64_t shuffle) {
  std::vector<int> mate = match(graph, limits, part, shuffle);
  if (graph.is_thinned) match_without_edges(graph, limits, part, mate);
  CoarseGraph coarse;
  coarse.group_of.assign(static_cast<std::size_t>(graph.vertices), -1);
  int groups = 0;
  for (int i = 0; i < graph.vertices; ++i) {
    const int other = mate[i];
    coarse.group_of[i] = other < i ? coarse.group_of[other] : groups++;
  }
  GroupSums sums(groups);
  coarse.begin.reserve(sums.bytes.size() + 1);
  coarse.size.reserve(sums.bytes.size());
  coarse.strength.reserve(sums.bytes.size());
  coarse.begin.push_back(0);
  coarse.edges.reserve(graph.edges.size());
  for (int i = 0; i < graph.vertices; ++i) {
    const auto v = static_cast<std::size_t>(i);
    const int other = mate[v];
    if (other < i) continue;
    double& inside = sums.bytes[coarse.group_of[v]];
    inside = 1;  // the group itself counts as seen: no edge
    add_group_edges(graph, coarse, i, sums);
    if (other != i) add_group_edges(graph, coarse, other, sums);
    inside = 0;
    take_group_edges(coarse, sums);
    coarse.begin.push_back(coarse.edges.size());
    const auto o = static_cast<std::size_t>(other);
    coarse.size.push_back(graph.size[v] + (o != v ? graph.size[o] : 0));
    coarse.strength.push_back(graph.strength[v] + (o != v ? graph.strength[o] : 0));
  }
  coarse.heavy = heavy_strength(coarse.strength);
  coarse.is_thinned = graph.is_thinned;
  return coarse;
}

Part part_of_groups(const CoarseGraph& coarse, std::span<const int> part) {
  Part groups(coarse.size.size());
  for (std::size_t i = 0; i < part.size(); ++i) groups[coarse.group_of[i]] = part[i];
  return groups;
}

Levels coarsen_all(const Graph& graph, const Target& target, int enough, Part part,
                   std::uint64_t shuffle) {
  const double all = std::accumulate(graph.strength.begin(), graph.strength.end(), 0.0);
  const MatchLimits limits{std::max(1, target.smallest / 2), all / target.usable / 2};
  Levels levels;
  Graph finest = graph;
  while (finest.vertices > enough) {
    levels.push_back(coarsen(finest, limits, part, shuffle));
    if (!part.empty()) part = part_of_groups(levels.back(), part);
    const Graph coarser = levels.back().view();
    if (coarser.vertices > finest.vertices * 9 / 10) {
      levels.pop_back();
      break;
    }
    finest = coarser;
  }
  return levels;
}

namespace {

class Growth {
 public:
  Growth(const Graph& graph, const Target& target, GrowBy by)
      : graph_(graph),
        target_(target),
        free_slots_(target.capacity),
        load_(target.capacity.size()),
        near_(static_cast<std::size_t>(graph.vertices)),
        part_(static_cast<std::size_t>(graph.vertices), -1) {
    if (by == GrowBy::kBytes) {
      weight_.assign(graph.strength.begin(), graph.strength.end());
    } else {
      weight_.assign(graph.size.begin(), graph.size.end());
    }
    share_ = std::accumulate(weight_.begin(), weight_.end(), 0.0) / target.usable;
  }

  // Fills one node after another. A node takes the first free vertex, then always the free vertex
  // that exchanges most with the node's vertices, until its share of the load or its room is used
  // up. Remaining vertices go to the node with the least load that has room.
  bool run() {
    for (int k = 0; k < target_.nodes; ++k) fill(k);
    for (int i = 0; i < graph_.vertices; ++i) {
      if (part_[i] < 0 && !squeeze_in(i)) return false;
    }
    return true;
  }
  Part take() { return std::move(part_); }

 private:
  void fill(int node) {
    const auto k = static_cast<std::size_t>(node);
    std::fill(near_.begin(), near_.end(), 0);
    for (int vertex = next(node); vertex >= 0; vertex = next(node)) {
      const double weight = weight_[vertex];
      if (load_[k] > 0 && load_[k] + weight / 2 > share_ * 1.02) return;
      put(vertex, node);
    }
  }
  int next(int node) const {
    int best = -1;
    for (int i = 0; i < graph_.vertices; ++i) {
      const auto v = static_cast<std::size_t>(i);
      if (part_[v] >= 0 || graph_.size[v] > free_slots_[node]) continue;
      if (best < 0 || near_[v] > near_[best]) best = i;
    }
    return best;
  }
  void put(int vertex, int node) {
    const auto v = static_cast<std::size_t>(vertex), k = static_cast<std::size_t>(node);
    part_[v] = node;
    free_slots_[k] -= graph_.size[v];
    load_[k] += weight_[v];
    for (const Traffic::Edge& edge : graph_.row(vertex)) near_[edge.peer] += edge.bytes;
  }
  bool squeeze_in(int vertex) {
    const int size = graph_.size[vertex];
    int best = -1;
    for (int k = 0; k < target_.nodes; ++k) {
      const auto node = static_cast<std::size_t>(k);
      if (free_slots_[node] < size) continue;
      if (best < 0 || load_[node] < load_[best]) best = k;
    }
    if (best >= 0) put(vertex, best);
    return best >= 0;
  }

  const Graph& graph_;
  const Target& target_;
  std::vector<int> free_slots_;
  std::vector<double> load_, near_, weight_;
  Part part_;
  double share_ = 0;
};

}  // namespace

Part grow_start(const Graph& graph, const Target& target, GrowBy by) {
  Growth growth(graph, target, by);
  if (!growth.run()) return {};
  return growth.take();
}

Part block_start(const Graph& graph, const Target& target) {
  const MatchLimits limits{target.smallest, std::numeric_limits<double>::infinity()};
  Part part(static_cast<std::size_t>(graph.vertices));
  std::iota(part.begin(), part.end(), 0);
  CoarseGraph coarse;
  for (Graph finer = graph; finer.vertices > target.usable;) {
    CoarseGraph next = coarsen(finer, limits, {});
    if (next.size.size() == coarse.size.size() || next.size.size() == part.size()) return {};
    for (int& group : part) group = next.group_of[group];
    coarse = std::move(next);
    finer = coarse.view();
  }
  const std::vector<int> usable = usable_nodes(target);
  for (int& node : part) node = usable[node];
  return part;
}

Part project(const CoarseGraph& coarse, std::span<const int> coarse_part) {
  Part part;
  part.reserve(coarse.group_of.size());
  for (const int group : coarse.group_of) part.push_back(coarse_part[group]);
  return part;
}

}  // namespace ondeloc::coordinated
