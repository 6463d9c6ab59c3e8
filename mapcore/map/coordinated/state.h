// SPDX-License-Identifier: Apache-2.0
// A partition of a graph over the nodes. The state keeps incrementally all numbers that a move
// changes: node loads M, link loads R, and for every vertex its bytes with each node (the gain
// table of C. M. Fiduccia and R. M. Mattheyses, "A linear-time heuristic for improving network
// partitions", DAC 1982, extended to k parts as in L. A. Sanchis, IEEE Trans. Comput. 38(1), 1989).
// The time of one move grows with the degree of the vertex plus the square of the number of nodes.
// Nothing is allocated after reset(). Thread safety: none; one state per call.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <vector>

#include "mapcore/map/coordinated/graph.h"

namespace ondeloc::coordinated {

// The value by which two partitions are compared, in units of Target, in this order: the predicted
// cost; the sum of squared loads, because the maximum in the cost has plateaus; the bytes between
// nodes.
struct Value {
  double cost = 0;
  double squares = 0;
  double remote = 0;
};

// Relative tolerance: sums of the same numbers in another order differ in the last bits, and such
// numbers count as equal.
inline constexpr double kTieTolerance = 1e-11;
inline bool is_less(double a, double b) { return a < b - kTieTolerance * b; }
// Compares bytes between nodes, with an absolute tolerance. If there are no such bytes, rounding
// leaves a rest of the numbers that were added and subtracted, on either side of 0. In units of
// Target the sum of all bytes is about 1.
inline bool is_less_remote(double a, double b) { return a < b - kTieTolerance; }
inline bool is_better(const Value& a, const Value& b) {
  if (is_less(a.cost, b.cost)) return true;
  if (is_less(b.cost, a.cost)) return false;
  if (is_less(a.squares, b.squares)) return true;
  if (is_less(b.squares, a.squares)) return false;
  return is_less_remote(a.remote, b.remote);
}
inline bool are_equal(const Value& a, const Value& b) {
  return !is_better(a, b) && !is_better(b, a);
}

// The value that the next step of a descent has to beat, compared in the order of Value: the least
// cost since the descent began, the least sum of squares since that cost fell, the remote bytes
// since that sum fell. The value is not the present one: differences below kTieTolerance count as
// none but add up. A light rank could then cycle for ever, if each step costs a little more and
// evens the loads, and the last step costs less.
class Acceptance {
 public:
  void start(const Value& value) { value_ = value; }
  bool allows(const Value& value) const { return is_better(value, value_); }
  // REQUIRES: allows(value).
  void lower(const Value& value) {
    const bool is_cheaper = is_less(value.cost, value_.cost);
    value_.cost = std::min(value.cost, value_.cost);
    value_.squares = is_cheaper ? value.squares : std::min(value.squares, value_.squares);
    value_.remote = value.remote;
  }

 private:
  Value value_;
};

class State {
 public:
  State(const Graph& graph, const Target& target);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // With smoothing > 0 the cost is locality + smoothing * sum of squared loads, until smoothing is
  // set back to 0. If several nodes have the same largest load, the true cost has a plateau that
  // single moves cannot leave. The smoothed cost has a slope there.
  void smooth(double smoothing);
  double smoothing() const { return smoothing_; }
  // REQUIRES: part[i] is in range, and no node is above its capacity.
  void reset(std::span<const int> part);

  int vertices() const { return graph_.vertices; }
  int nodes() const { return nodes_; }
  const Graph& graph() const { return graph_; }
  const Target& target() const { return target_; }
  const Value& value() const { return value_; }
  std::span<const int> part() const { return part_; }
  int part(int vertex) const { return part_[vertex]; }
  std::span<const int> members(int node) const {
    const auto k = static_cast<std::size_t>(node);
    return std::span(members_).subspan(first_member_[k], member_count_[k]);
  }
  int free_slots(int node) const { return target_.capacity[node] - used_[node]; }
  double load(int node) const { return load_[node]; }
  // Bytes between the vertex and all vertices on each node: nodes() numbers.
  const double* bytes_to(int vertex) const { return &bytes_to_[index(vertex, 0)]; }
  double link(int k, int l) const { return link_[index(k, l)]; }
  // Index of a vertex among the members of all nodes, in the order of nodes; below positions().
  std::size_t position(int vertex) const { return position_[vertex]; }
  std::size_t first_position(int node) const { return first_member_[node]; }
  std::size_t positions() const { return positions_; }
  // Arrays for loops over all members of a node, in the order of members(): the bytes of each
  // member, and the bytes of each member with the node `to`. The numbers are in units of Target and
  // rounded to float. Use them for bounds, not for results.
  const float* weights_of(int node) const { return &weight_[first_member_[node]]; }
  const float* weights_between(int node, int to) const {
    return &near_[static_cast<std::size_t>(to) * positions_ + first_member_[node]];
  }
  // The epoch changes with every change of the state.
  int epoch() const { return epoch_; }

  // REQUIRES: the vertex fits, or the two vertices fit in each other's place.
  void move(int vertex, int node);
  void swap(int first, int second);

  // Returns the value after `first` moves to the node `to`, and `second` (if >= 0) moves from there
  // to the node of `first`. `edge`: bytes between the two. `known_locality`: change of the locality
  // term, from locality_change() and for a swap the penalty of the edge. The state does not change.
  Value value_after(int first, int second, int to, double edge, double known_locality) const;
  // Computes the same value. If it is better than `best`, stores the value in `best` and returns
  // true.
  bool improves(int first, int second, int to, double edge, double known_locality,
                Value& best) const;
  // Change of the locality term when the vertex moves alone.
  double locality_change(int vertex, int from, int to) const {
    const double* bytes = bytes_to(vertex);
    const double* penalty = target_.penalty.data();
    if (target_.uniform_penalty) return penalty[nodes_ > 1 ? 1 : 0] * (bytes[from] - bytes[to]);
    const double* here =
        penalty + static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes_);
    const double* there = penalty + static_cast<std::size_t>(to) * static_cast<std::size_t>(nodes_);
    double change = 0;
    for (int k = 0; k < nodes_; ++k) change += bytes[k] * (there[k] - here[k]);
    return change;
  }
  double locality() const { return locality_; }
  double largest_link() const { return largest_link_; }  // max R_kl/X_kl
  // The largest M_k/B_k over all nodes except a and b.
  double largest_load_without(int a, int b) const {
    for (const int k : heaviest_) {
      if (k >= 0 && k != a && k != b) {
        return load_[k] * target_.per_byte[k];
      }
    }
    return 0;
  }
  // Lower bound of the cost of all partitions with the present locality.
  double floor() const { return floor_; }
  int heaviest() const { return heaviest_[0]; }

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * nodes_ + column;
  }
  void shift_bytes(int vertex, int from, int to);
  void put_at(int vertex, std::size_t position);
  float to_weight(double bytes) const {
    const auto weight = static_cast<float>(bytes * target_.unit);
    return weight > kLeastWeight ? weight : 0;
  }
  void refresh();  // computes value_, heaviest_, locality_ from load_ and link_
  Value least_after(int first, int second, int to, double edge, double known_locality) const;
  void add_links(Value& value, int first, int second, int to, double edge, double locality) const;
  double links_after(int first, int second, int from, int to, double edge, double floor) const;

  const Graph& graph_;
  const Target& target_;
  int nodes_;
  static constexpr float kLeastWeight = 1e-30F;  // denormal numbers are slow
  std::pmr::monotonic_buffer_resource memory_;   // one allocation for all arrays
  std::pmr::vector<int> part_{&memory_}, members_{&memory_}, used_{&memory_};
  // members_[position_[i]] = i
  std::pmr::vector<std::size_t> position_{&memory_}, first_member_{&memory_},
      member_count_{&memory_};
  std::size_t positions_ = 0;
  std::pmr::vector<float> weight_{&memory_}, near_{&memory_};
  int epoch_ = 0;
  std::pmr::vector<double> load_{&memory_}, link_{&memory_}, bytes_to_{&memory_};
  int heaviest_[3] = {-1, -1, -1};
  double floor_ = 0;
  double largest_link_ = 0;
  double locality_ = 0;
  double smoothing_ = 0;
  Value value_;
};

}  // namespace ondeloc::coordinated
