// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/sweep.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kFar = std::numeric_limits<int>::max();
constexpr std::size_t kChainEdges = 12;  // edges of a rank, on average: more is no chain or grid
constexpr int kLeast = 5;         // ranks of a node, on average: merging finds boxes of fewer
constexpr double kLight = 0.125;  // of the heaviest edge of either rank: edges that give no shape
constexpr std::size_t kPivots = 4;
constexpr std::size_t kMany = 256;  // ranks
// Orders tried, of many ranks the first only: by the distance to one pivot less that to the other.
constexpr std::size_t kOrdersOfMany = 3;
constexpr std::array<std::array<std::size_t, 2>, 5> kOrders = {
    {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {2, 3}}};
constexpr int kLeft = -1;  // in part_, while a sweep lasts

// Some of the nodes, taken as one.
struct Side {
  int capacity = 0;
  double per_byte = 0;
};

struct Cut {
  double cost = std::numeric_limits<double>::max();
  double crossing = 0;
  std::size_t count = 0;  // of vertices on the left; 0: none was found
};

class Bisection {
 public:
  Bisection(const Graph& graph, std::span<const Row> rows, const Target& target, double limit)
      : graph_(graph),
        target_(target),
        limit_(limit),
        least_(target.mean_load),
        nodes_(usable_nodes(target)),
        order_(static_cast<std::size_t>(graph.vertices)),
        part_(order_.size(), 0),
        nearest_(order_.size()),
        best_(order_.size()),
        sorted_(order_.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    for (auto& distance : distance_) distance.resize(order_.size());
    keep_shape(rows);
  }

  Part run() {
    if (!split(order_, 0, nodes_.size())) return {};
    for (int& part : part_) part = nodes_[static_cast<std::size_t>(part)];
    return std::move(part_);
  }

 private:
  // Spreads the vertices, of which part_ is `first`, over the nodes first .. last - 1. False where
  // they do not fit, or cost too much.
  bool split(std::span<int> vertices, std::size_t first, std::size_t last) {
    if (last - first < 2 || vertices.empty()) return true;
    const std::size_t middle = first + (last - first) / 2;
    const Cut cut =
        best_cut(vertices, static_cast<int>(first), side(first, middle), side(middle, last));
    if (cut.count == 0) return false;
    if (target_.uniform_penalty) least_ += cut.crossing * penalty();
    if (!is_less(least_, limit_)) return false;
    std::copy_n(best_.begin(), vertices.size(), vertices.begin());
    for (const int vertex : vertices.subspan(cut.count))
      part_[static_cast<std::size_t>(vertex)] = static_cast<int>(middle);
    return split(vertices.first(cut.count), first, middle) &&
           split(vertices.subspan(cut.count), middle, last);
  }

  Side side(std::size_t first, std::size_t last) const {
    Side side;
    double bandwidth = 0;
    for (std::size_t at = first; at < last; ++at) {
      const auto k = static_cast<std::size_t>(nodes_[at]);
      side.capacity += target_.capacity[k];
      bandwidth += 1 / target_.per_byte[k];
    }
    side.per_byte = 1 / bandwidth;
    return side;
  }

  // The order that it belongs to is left in best_.
  Cut best_cut(std::span<int> vertices, int inside, const Side& left, const Side& right) {
    find_pivots(vertices, inside);
    Cut best;
    const std::size_t orders = vertices.size() > kMany ? kOrdersOfMany : kOrders.size();
    for (const auto& [near, far] : std::span(kOrders).first(orders)) {
      sort_by(vertices, distance_[near], distance_[far]);
      const Cut cut = sweep(vertices, inside, left, right, best);
      if (!is_less(cut.cost, best.cost)) continue;
      best = cut;
      std::copy(vertices.begin(), vertices.end(), best_.begin());
    }
    return best;
  }

  // The best place to cut the vertices as they are ordered, where it is better than `best`.
  Cut sweep(std::span<const int> vertices, int inside, const Side& left, const Side& right,
            Cut best) {
    double all = 0, on_left = 0, crossing = 0;
    for (const int vertex : vertices) all += graph_.strength[static_cast<std::size_t>(vertex)];
    int count = 0, rest = static_cast<int>(vertices.size());
    for (const int vertex : vertices) {
      crossing += crosses_more(vertex, inside);
      part_[static_cast<std::size_t>(vertex)] = kLeft;
      on_left += graph_.strength[static_cast<std::size_t>(vertex)];
      ++count, --rest;
      if (count > left.capacity || rest > right.capacity) continue;
      const double load = std::max(on_left * left.per_byte, (all - on_left) * right.per_byte);
      const double cost = load + crossing * penalty();
      if (is_less(cost, best.cost)) best = {cost, crossing, static_cast<std::size_t>(count)};
    }
    for (const int vertex : vertices) part_[static_cast<std::size_t>(vertex)] = inside;
    return best;
  }

  // What crosses the cut more once the vertex is on its left.
  double crosses_more(int vertex, int inside) const {
    double more = 0;
    for (const Traffic::Edge& edge : graph_.row(vertex)) {
      const int at = part_[static_cast<std::size_t>(edge.peer)];
      if (at == inside) more += edge.bytes;
      if (at == kLeft) more -= edge.bytes;
    }
    return more;
  }

  double penalty() const { return target_.penalty.size() > 1 ? target_.penalty[1] : 0; }

  // The edges that distances are measured along.
  void keep_shape(std::span<const Row> rows) {
    begin_.reserve(order_.size() + 1);
    begin_.push_back(0);
    peers_.reserve(graph_.edges.size());
    for (int i = 0; i < graph_.vertices; ++i) {
      const double own = rows[static_cast<std::size_t>(i)].most;
      for (const Traffic::Edge& edge : graph_.row(i)) {
        const double most = std::min(own, rows[static_cast<std::size_t>(edge.peer)].most);
        if (edge.bytes >= kLight * most) peers_.push_back(edge.peer);
      }
      begin_.push_back(peers_.size());
    }
  }

  // By near - far, then by near. Both are small numbers: sorted by counting, the last key first.
  void sort_by(std::span<int> vertices, std::span<const int> near, std::span<const int> far) {
    sort_by_key(vertices, [&](std::size_t v) { return near[v]; });
    const int most = static_cast<int>(vertices.size()) * 2;
    sort_by_key(vertices, [&](std::size_t v) { return near[v] - far[v] + most; });
  }

  template <typename Key>
  void sort_by_key(std::span<int> vertices, Key key) {
    count_.assign(4 * vertices.size() + 2, 0);
    for (const int vertex : vertices)
      ++count_[static_cast<std::size_t>(key(static_cast<std::size_t>(vertex))) + 1];
    for (std::size_t i = 1; i < count_.size(); ++i) count_[i] += count_[i - 1];
    for (const int vertex : vertices) {
      const auto at = static_cast<std::size_t>(key(static_cast<std::size_t>(vertex)));
      sorted_[static_cast<std::size_t>(count_[at]++)] = vertex;
    }
    std::copy_n(sorted_.begin(), vertices.size(), vertices.begin());
  }

  // distance_ from vertices that are far from each other.
  void find_pivots(std::span<const int> vertices, int inside) {
    for (const int vertex : vertices) nearest_[static_cast<std::size_t>(vertex)] = kFar;
    measure(vertices, inside, vertices.front(), distance_[0]);
    int pivot = farthest(vertices, distance_[0]);
    for (auto& distance : distance_) {
      measure(vertices, inside, pivot, distance);
      for (const int vertex : vertices) {
        int& nearest = nearest_[static_cast<std::size_t>(vertex)];
        nearest = std::min(nearest, distance[static_cast<std::size_t>(vertex)]);
      }
      pivot = farthest(vertices, nearest_);
    }
  }

  // Of equals the one that talks least: it is at the edge of a grid.
  int farthest(std::span<const int> vertices, std::span<const int> distance) const {
    const auto is_farther = [&](int a, int b) {
      const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
      if (distance[i] != distance[j]) return distance[i] > distance[j];
      return graph_.strength[i] < graph_.strength[j];
    };
    int best = vertices.front();
    for (const int vertex : vertices) best = is_farther(vertex, best) ? vertex : best;
    return best;
  }

  // Edges on the way. What cannot be reached is farther than all that can.
  void measure(std::span<const int> vertices, int inside, int from, std::vector<int>& distance) {
    for (const int vertex : vertices) distance[static_cast<std::size_t>(vertex)] = kFar;
    distance[static_cast<std::size_t>(from)] = 0;
    sorted_[0] = from;
    std::size_t reached = 1;
    for (std::size_t at = 0; at < reached; ++at) {
      const auto v = static_cast<std::size_t>(sorted_[at]);
      for (std::size_t e = begin_[v]; e < begin_[v + 1]; ++e) {
        const auto peer = static_cast<std::size_t>(peers_[e]);
        if (distance[peer] != kFar || part_[peer] != inside) continue;
        distance[peer] = distance[v] + 1;
        sorted_[reached++] = peers_[e];
      }
    }
    if (reached == vertices.size()) return;
    const int beyond = static_cast<int>(vertices.size());
    for (const int vertex : vertices) {
      int& length = distance[static_cast<std::size_t>(vertex)];
      length = std::min(length, beyond);
    }
  }

  const Graph& graph_;
  const Target& target_;
  double limit_;
  double least_;            // what the partition costs at least, by what is cut already
  std::vector<int> nodes_;  // with slots
  std::vector<int> order_;
  Part part_;  // indices into nodes_: the first of those that a vertex may still come to
  std::vector<std::size_t> begin_;  // of the edges that give the shape, by vertex
  std::vector<int> peers_;
  std::array<std::vector<int>, kPivots> distance_;
  std::vector<int> nearest_;  // distance to the nearest pivot
  std::vector<int> best_;     // the best order
  std::vector<int> sorted_, count_;
};

}  // namespace

Part sweep_start(const Graph& graph, std::span<const Row> rows, const Target& target,
                 double limit) {
  const auto n = static_cast<std::size_t>(graph.vertices);
  if (graph.vertices < kLeast * target.usable) return {};
  if (target.usable < 2 || graph.edges.empty() || graph.edges.size() > kChainEdges * n) return {};
  if (*std::max_element(graph.strength.begin(), graph.strength.end()) > graph.heavy) return {};
  return Bisection(graph, rows, target, limit).run();
}

}  // namespace ondeloc::coordinated
