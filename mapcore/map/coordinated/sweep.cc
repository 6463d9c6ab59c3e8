// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/sweep.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "mapcore/map/coordinated/state.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kFar = std::numeric_limits<int>::max();
// Orders to try: by the distance to one pivot less the distance to the other. With many ranks only
// the first orders are tried.
constexpr std::array<std::array<std::size_t, 2>, 5> kOrders = {
    {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {2, 3}}};
constexpr int kLeft = -1;  // in part_, during a sweep

// Some of the nodes, treated as one node.
struct Side {
  int capacity = 0;
  double per_byte = 0;
};

struct Cut {
  double cost = std::numeric_limits<double>::max();
  double crossing = 0;
  std::size_t count = 0;  // vertices on the left; 0: no cut was found
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
    for (int& part : part_) part = nodes_[part];
    return std::move(part_);
  }

 private:
  // Spreads the vertices over the nodes first .. last - 1. part_ of each of them is `first`.
  // Returns false if the vertices do not fit or cost too much.
  bool split(std::span<int> vertices, std::size_t first, std::size_t last) {
    if (last - first < 2 || vertices.empty()) return true;
    const std::size_t middle = first + (last - first) / 2;
    const Cut cut =
        best_cut(vertices, static_cast<int>(first), side(first, middle), side(middle, last));
    if (cut.count == 0) return false;
    if (target_.uniform_penalty) least_ += cut.crossing * penalty();
    if (!is_less(least_, limit_)) return false;
    std::copy_n(best_.begin(), vertices.size(), vertices.begin());
    for (const int vertex : vertices.subspan(cut.count)) part_[vertex] = static_cast<int>(middle);
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

  // Returns the best cut and leaves the order of that cut in best_.
  Cut best_cut(std::span<int> vertices, int inside, const Side& left, const Side& right) {
    find_pivots(vertices, inside);
    Cut best;
    const std::size_t orders =
        vertices.size() > tuning::kManySwept ? tuning::kOrdersOfMany : kOrders.size();
    for (const auto& [near, far] : std::span(kOrders).first(orders)) {
      sort_by(vertices, distance_[near], distance_[far]);
      const Cut cut = sweep(vertices, inside, left, right, best);
      if (!is_less(cut.cost, best.cost)) continue;
      best = cut;
      std::copy(vertices.begin(), vertices.end(), best_.begin());
    }
    return best;
  }

  // Returns the best cut of the vertices in their present order, or `best` if no cut is better.
  Cut sweep(std::span<const int> vertices, int inside, const Side& left, const Side& right,
            Cut best) {
    double all = 0, on_left = 0, crossing = 0;
    for (const int vertex : vertices) all += graph_.strength[vertex];
    int count = 0, rest = static_cast<int>(vertices.size());
    for (const int vertex : vertices) {
      crossing += crosses_more(vertex, inside);
      part_[vertex] = kLeft;
      on_left += graph_.strength[vertex];
      ++count, --rest;
      if (count > left.capacity || rest > right.capacity) continue;
      const double load = std::max(on_left * left.per_byte, (all - on_left) * right.per_byte);
      const double cost = load + crossing * penalty();
      if (is_less(cost, best.cost)) best = {cost, crossing, static_cast<std::size_t>(count)};
    }
    for (const int vertex : vertices) part_[vertex] = inside;
    return best;
  }

  // Returns the increase of the crossing bytes when the vertex goes to the left of the cut.
  double crosses_more(int vertex, int inside) const {
    double more = 0;
    for (const Traffic::Edge& edge : graph_.row(vertex)) {
      const int at = part_[edge.peer];
      if (at == inside) more += edge.bytes;
      if (at == kLeft) more -= edge.bytes;
    }
    return more;
  }

  double penalty() const { return target_.penalty.size() > 1 ? target_.penalty[1] : 0; }

  // Keeps the edges along which distances are measured.
  void keep_shape(std::span<const Row> rows) {
    begin_.reserve(order_.size() + 1);
    begin_.push_back(0);
    peers_.reserve(graph_.edges.size());
    for (int i = 0; i < graph_.vertices; ++i) {
      const double own = rows[i].most;
      for (const Traffic::Edge& edge : graph_.row(i)) {
        const double most = std::min(own, rows[edge.peer].most);
        if (edge.bytes >= tuning::kLightEdge * most) peers_.push_back(edge.peer);
      }
      begin_.push_back(peers_.size());
    }
  }

  // Sorts by near - far, then by near. Both are small numbers, so counting sort is used, with the
  // last key first.
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
      sorted_[count_[at]++] = vertex;
    }
    std::copy_n(sorted_.begin(), vertices.size(), vertices.begin());
  }

  // Computes distance_ from vertices that are far from each other.
  void find_pivots(std::span<const int> vertices, int inside) {
    for (const int vertex : vertices) nearest_[vertex] = kFar;
    measure(vertices, inside, vertices.front(), distance_[0]);
    int pivot = farthest(vertices, distance_[0]);
    for (auto& distance : distance_) {
      measure(vertices, inside, pivot, distance);
      for (const int vertex : vertices) {
        int& nearest = nearest_[vertex];
        nearest = std::min(nearest, distance[vertex]);
      }
      pivot = farthest(vertices, nearest_);
    }
  }

  // Returns the farthest vertex. Among equals, returns the vertex with the least traffic: it is at
  // the edge of a grid.
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

  // Counts the edges on the way. A vertex that cannot be reached is farther than all reached
  // vertices.
  void measure(std::span<const int> vertices, int inside, int from, std::vector<int>& distance) {
    for (const int vertex : vertices) distance[vertex] = kFar;
    distance[from] = 0;
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
      int& length = distance[vertex];
      length = std::min(length, beyond);
    }
  }

  const Graph& graph_;
  const Target& target_;
  double limit_;
  double least_;            // lower bound of the cost, from the cuts made so far
  std::vector<int> nodes_;  // with slots
  std::vector<int> order_;
  Part part_;  // indices into nodes_: the first node still possible for a vertex
  std::vector<std::size_t> begin_;  // row begins of peers_, by vertex
  std::vector<int> peers_;
  std::array<std::vector<int>, tuning::kPivots> distance_;
  std::vector<int> nearest_;  // distance to the nearest pivot
  std::vector<int> best_;     // the best order
  std::vector<int> sorted_, count_;
};

}  // namespace

Part sweep_start(const Graph& graph, std::span<const Row> rows, const Target& target,
                 double limit) {
  const auto n = static_cast<std::size_t>(graph.vertices);
  if (graph.vertices < tuning::kLeastSweptRanks * target.usable) return {};
  if (target.usable < 2 || graph.edges.empty() || graph.edges.size() > tuning::kChainEdges * n)
    return {};
  if (*std::max_element(graph.strength.begin(), graph.strength.end()) > graph.heavy) return {};
  return Bisection(graph, rows, target, limit).run();
}

}  // namespace ondeloc::coordinated
