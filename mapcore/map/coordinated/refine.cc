// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ondeloc::coordinated {
namespace {

constexpr int kExhaustive = 64;  // vertices up to which every move and swap is tried

}  // namespace

Refiner::Refiner(State& state)
    : state_(state),
      edge_(static_cast<std::size_t>(state.vertices())),
      best_part_(static_cast<std::size_t>(state.vertices())),
      least_back_(static_cast<std::size_t>(state.nodes() * state.nodes())),
      least_edge_(static_cast<std::size_t>(state.vertices())),
      waiting_(static_cast<std::size_t>(state.vertices()), 1),
      selective_(state.vertices() > kExhaustive) {
  for (int i = 0; i < state.vertices(); ++i) {
    const auto row = state.graph().row(i);
    if (static_cast<int>(row.size()) + 1 < state.vertices() || row.empty()) continue;
    double& least = least_edge_[static_cast<std::size_t>(i)];
    least = row.front().bytes;
    for (const Traffic::Edge& edge : row) least = std::min(least, edge.bytes);
  }
}

// A vertex gains by going where its peers are, or by leaving the heaviest node.
bool Refiner::is_worth_a_look(int from, int to, const double* bytes) const {
  return to != from && (!selective_ || bytes[to] > 0 || from == state_.heaviest());
}

double Refiner::least_back(int to, int from) {
  double& least = least_back_[static_cast<std::size_t>(to * state_.nodes() + from)];
  if (!std::isnan(least)) return least;
  least = std::numeric_limits<double>::infinity();
  for (const int other : state_.members(to))
    least = std::min(least, state_.locality_change(other, to, from));
  work_ -= static_cast<std::int64_t>(state_.members(to).size()) / 2;
  return least;
}

// After a vertex went from a to b or back: what anyone gains by leaving or reaching a and b.
void Refiner::forget(int a, int b) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (!state_.target().uniform_penalty) {
    std::fill(least_back_.begin(), least_back_.end(), kUnknown);
    return;
  }
  const int n = state_.nodes();
  for (int k = 0; k < n; ++k) {
    for (const int at : {k * n + a, k * n + b, a * n + k, b * n + k})
      least_back_[static_cast<std::size_t>(at)] = kUnknown;
  }
}

void Refiner::swap(int first, int second) {
  forget(state_.part(first), state_.part(second));
  state_.swap(first, second);
}

void Refiner::mark(int vertex) {
  waiting_[static_cast<std::size_t>(vertex)] = 1;
  for (const Traffic::Edge& edge : state_.graph().row(vertex))
    waiting_[static_cast<std::size_t>(edge.peer)] = 1;
}

bool Refiner::fits(int first, int second, int to) const {
  const auto size = state_.graph().size;
  const int grows = size[static_cast<std::size_t>(first)] -
                    (second >= 0 ? size[static_cast<std::size_t>(second)] : 0);
  if (grows == 0) return true;
  return grows > 0 ? state_.room(to) >= grows : state_.room(state_.part(first)) >= -grows;
}

void Refiner::consider_move(int vertex, int to, Choice& best) {
  if (state_.room(to) < state_.graph().size[static_cast<std::size_t>(vertex)]) return;
  const double change = state_.locality_change(vertex, state_.part(vertex), to);
  const Value value = state_.value_after(vertex, -1, to, 0, change);
  if (is_better(value, best.value)) best = {value, -1, to};
}

// The loop that everything else is about: one node's vertices as partners of one vertex. A bound
// without links and without the edge between the two turns nearly all of them down.
void Refiner::consider_swaps(int vertex, int to, Choice& best) {
  const int from = state_.part(vertex);
  const Target& target = state_.target();
  const double strength = state_.graph().strength[static_cast<std::size_t>(vertex)];
  const double per_a = target.per_byte[static_cast<std::size_t>(from)];
  const double per_b = target.per_byte[static_cast<std::size_t>(to)];
  const double others = state_.largest_load_without(from, to);
  const double base = state_.locality() + state_.locality_change(vertex, from, to);
  const double double_penalty =
      2 * target.penalty[static_cast<std::size_t>(from * state_.nodes() + to)];
  const double load_a = state_.load(from) - strength, load_b = state_.load(to) + strength;
  const double smoothing = state_.smoothing();
  const double old_a = state_.load(from) * per_a, old_b = state_.load(to) * per_b;
  const double rest = state_.value().squares - old_a * old_a - old_b * old_b;
  const double both = old_a + old_b;
  // Of two nodes the heavier one has at least what an even split would give it.
  const double even = (state_.load(from) + state_.load(to)) / (1 / per_a + 1 / per_b);
  const double lightest = smoothing > 0
                              ? smoothing * (rest + (per_a == per_b ? both * both / 2 : 0))
                              : std::max(others, per_a > 0 ? even : 0);
  // What crosses between the two nodes counts where links are slower than memory.
  const double* out = state_.bytes_to(vertex);
  const double per_link =
      smoothing > 0 ? 0
                    : target.link_per_byte[static_cast<std::size_t>(from * state_.nodes() + to)];
  const double crossing = state_.link(from, to) + out[from] - out[to];
  const double* strengths = state_.graph().strength.data();
  double limit = best.value.cost + kSame * best.value.cost;
  const double pulled = double_penalty * least_edge_[static_cast<std::size_t>(vertex)];
  if (lightest + base + pulled + least_back(to, from) > limit) return;
  work_ -= static_cast<std::int64_t>(state_.members(to).size());
  for (const int other : state_.members(to)) {
    const double moved = strengths[other];
    const double back = state_.locality_change(other, to, from);
    const double new_a = (load_a + moved) * per_a, new_b = (load_b - moved) * per_b;
    const double node = smoothing > 0 ? smoothing * (rest + new_a * new_a + new_b * new_b)
                                      : std::max({others, new_a, new_b});
    const double* in = state_.bytes_to(other);
    const double link = (crossing + in[to] - in[from]) * per_link;
    if (std::max(node, link) + base + back > limit) continue;
    if (!has_edges_) spread_edges(vertex);
    const double edge = edge_[static_cast<std::size_t>(other)];
    const double locality = base + back + double_penalty * edge;
    const double least = std::max(node, link + 2 * edge * per_link) + locality;
    if (least > limit || is_plateau(least, locality, rest + new_a * new_a + new_b * new_b, best) ||
        !fits(vertex, other, to))
      continue;
    const Value value = state_.value_after(vertex, other, to, edge, locality - state_.locality());
    if (!is_better(value, best.value)) continue;
    best = {value, other, to};
    limit = value.cost + kSame * value.cost;
  }
}

// No better than the best: a cost that is at least the same, and neither squares nor bytes between
// nodes that are less. Programs with ranks that are alike have many such swaps.
bool Refiner::is_plateau(double least_cost, double locality, double squares,
                         const Choice& best) const {
  if (is_less(least_cost, best.value.cost)) return false;
  if (is_less(squares, best.value.squares)) return false;
  if (is_less(best.value.squares, squares)) return true;
  return best.to < 0 && state_.target().uniform_penalty && !is_less(locality, state_.locality());
}

void Refiner::spread_edges(int vertex) {
  has_edges_ = true;
  for (const Traffic::Edge& edge : state_.graph().row(vertex))
    edge_[static_cast<std::size_t>(edge.peer)] = edge.bytes;
}

Refiner::Choice Refiner::best_of(int vertex) {
  Choice best{state_.value(), -1, -1};
  const int from = state_.part(vertex);
  const double* bytes = state_.bytes_to(vertex);
  for (int to = 0; to < state_.nodes(); ++to) {
    if (!is_worth_a_look(from, to, bytes)) continue;
    consider_move(vertex, to, best);
    consider_swaps(vertex, to, best);
  }
  work_ -= state_.nodes();
  if (!has_edges_) return best;
  has_edges_ = false;
  for (const Traffic::Edge& edge : state_.graph().row(vertex))
    edge_[static_cast<std::size_t>(edge.peer)] = 0;
  work_ -= static_cast<std::int64_t>(state_.graph().row(vertex).size());
  return best;
}

void Refiner::apply(int vertex, const Choice& choice) {
  if (choice.second >= 0) {
    swap(vertex, choice.second);
  } else {
    forget(state_.part(vertex), choice.to);
    state_.move(vertex, choice.to);
  }
  work_ -= static_cast<std::int64_t>(state_.graph().row(vertex).size()) + 2 * state_.nodes();
}

bool Refiner::descend() {
  std::fill(least_back_.begin(), least_back_.end(), std::numeric_limits<double>::quiet_NaN());
  bool changed = true;
  // A move may open a way for vertices that it is no neighbour of: small graphs are asked again.
  for (int turn = 0; changed && (turn == 0 || !selective_); ++turn) {
    std::fill(waiting_.begin(), waiting_.end(), 1);
    changed = settle(0);
    if (work_ <= 0) return false;
  }
  return true;
}

// True when something was moved.
bool Refiner::settle(int first) {
  const int n = state_.vertices();
  bool changed = false;
  for (int vertex = first, quiet = 0; quiet < n;
       vertex = vertex + 1 < n ? vertex + 1 : 0, ++quiet) {
    if (waiting_[static_cast<std::size_t>(vertex)] == 0) continue;
    if (work_ <= 0) return changed;
    waiting_[static_cast<std::size_t>(vertex)] = 0;
    const Choice choice = best_of(vertex);
    if (choice.to < 0) continue;
    apply(vertex, choice);
    mark(vertex);
    if (choice.second >= 0) mark(choice.second);
    changed = true;
    quiet = -1;
  }
  return changed;
}

bool Refiner::is_local_optimum() {
  std::fill(least_back_.begin(), least_back_.end(), std::numeric_limits<double>::quiet_NaN());
  for (int vertex = 0; vertex < state_.vertices(); ++vertex) {
    if (best_of(vertex).to >= 0) return false;
  }
  return true;
}

namespace {

// xorshift64*: S. Vigna, ACM Trans. Math. Softw. 42(4), 2016.
std::uint64_t next_random(std::uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545F4914F6CDD1DULL;
}

int below(std::uint64_t& state, int n) {
  return static_cast<int>((next_random(state) >> 33) % static_cast<std::uint64_t>(n));
}

}  // namespace

void Refiner::kick(std::uint64_t& random) {
  const int n = state_.vertices();
  for (int turn = 2 + below(random, 2); turn > 0; --turn) {
    const int first = below(random, n), second = below(random, n);
    if (state_.part(first) == state_.part(second)) continue;
    if (state_.graph().size[static_cast<std::size_t>(first)] ==
        state_.graph().size[static_cast<std::size_t>(second)]) {
      swap(first, second);
      mark(first);
      mark(second);
    }
  }
}

void Refiner::iterate(std::uint64_t seed) {
  std::uint64_t random = seed * 2654435769U + 88172645463325252U;
  Value best = state_.value();
  std::copy(state_.part().begin(), state_.part().end(), best_part_.begin());
  auto go_back = [&] {
    state_.reset(best_part_);
    std::fill(least_back_.begin(), least_back_.end(), std::numeric_limits<double>::quiet_NaN());
  };
  std::fill(waiting_.begin(), waiting_.end(), 0);
  go_back();
  while (work_ > 0) {
    --work_;  // where no two vertices can change places nothing else counts down
    kick(random);
    settle(below(random, state_.vertices()));
    if (is_better(best, state_.value())) {
      std::fill(waiting_.begin(), waiting_.end(), 0);
      go_back();
      work_ -= state_.vertices() + static_cast<std::int64_t>(state_.graph().edges.size()) / 4;
    } else {
      best = state_.value();
      std::copy(state_.part().begin(), state_.part().end(), best_part_.begin());
    }
  }
  if (is_better(best, state_.value())) go_back();
}

}  // namespace ondeloc::coordinated
