// SPDX-License-Identifier: Apache-2.0
// The best move or swap of one vertex: bounds first, exact values for what is left.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mapcore/map/coordinated/refine.h"

namespace ondeloc::coordinated {
namespace {

constexpr LeastChange kNotKnown{std::numeric_limits<double>::quiet_NaN(), 0};
constexpr double kNearly = 0.97;

}  // namespace

const SwapTerms& Refiner::terms_of(int from, int to) {
  SwapTerms& terms = terms_[pair(from, to)];
  if (terms.epoch != state_.epoch()) terms = swap_terms(state_, from, to);
  return terms;
}

void Refiner::forget_all() { std::fill(least_back_.begin(), least_back_.end(), kNotKnown); }

// After a vertex went from a to b or back: what anyone gains by leaving or reaching a and b.
void Refiner::forget(int a, int b) {
  if (!state_.target().uniform_penalty) return forget_all();
  const int n = state_.nodes();
  for (int k = 0; k < n; ++k) {
    for (const std::size_t at : {pair(k, a), pair(k, b), pair(a, k), pair(b, k)})
      least_back_[at] = kNotKnown;
  }
}

bool Refiner::fits(int first, int second, int to) const {
  const auto size = state_.graph().size;
  const int grows = size[static_cast<std::size_t>(first)] -
                    (second >= 0 ? size[static_cast<std::size_t>(second)] : 0);
  if (grows == 0) return true;
  return grows > 0 ? state_.room(to) >= grows : state_.room(state_.part(first)) >= -grows;
}

void Refiner::consider_move(int vertex, int to, Choice& best) {
  const double change = state_.locality_change(vertex, state_.part(vertex), to);
  if (!state_.improves(vertex, -1, to, 0, change, best.value)) return;
  best.second = -1;
  best.to = to;
}

// Bounds of the swaps with all members of `to`; false when no partner there can be any good.
// `least`: change of locality by the vertex and any of them.
bool Refiner::has_partners(int vertex, int to, double least, double limit) {
  const SwapTerms& terms = terms_of(state_.part(vertex), to);
  const double pulled = terms.double_penalty * least_edge_[static_cast<std::size_t>(vertex)];
  const double link = terms.link + least * terms.link_per_locality;
  if (std::max(terms.lightest, link) + state_.locality() + least + pulled > limit) return false;
  const auto count = static_cast<int>(state_.members(to).size());
  work_ -= count;
  float* bounds = &bounds_[state_.first_place(to)];
  bound_swaps(state_, terms, vertex, to, bounds);
  const auto most = static_cast<float>(limit * (1 + kRounding));
  int below = 0;
  for (int i = 0; i < count; ++i) below += bounds[i] <= most ? 1 : 0;
  return below > 0;
}

// The bytes between two partners cross twice after a swap, which costs locality and, where links
// are about what congestion is made of, congestion.
void Refiner::spread_edges(int vertex) {
  const int from = state_.part(vertex);
  const double* bytes = state_.bytes_to(vertex);
  const bool links_count =
      state_.smoothing() == 0 && state_.target().uniform_penalty &&
      state_.largest_link() > kNearly * (state_.value().cost - state_.locality());
  for (const Traffic::Edge& edge : state_.graph().row(vertex)) {
    const int to = state_.part(edge.peer);
    const SwapTerms& terms = terms_[pair(from, to)];
    edge_[static_cast<std::size_t>(edge.peer)] = edge.bytes;
    float& bound = bounds_[state_.place(edge.peer)];
    bound += static_cast<float>(terms.double_penalty * edge.bytes);
    if (!links_count || to == from) continue;
    const double* back = state_.bytes_to(edge.peer);
    const double more = (bytes[from] - bytes[to]) + (back[to] - back[from]) + 2 * edge.bytes;
    const double cost = (state_.link(from, to) + more) * terms.per_link + state_.locality() +
                        more * terms.double_penalty / 2;
    bound = std::max(bound, static_cast<float>(cost));
  }
}

void Refiner::gather_edges(int vertex) {
  for (const Traffic::Edge& edge : state_.graph().row(vertex))
    edge_[static_cast<std::size_t>(edge.peer)] = 0;
  work_ -= static_cast<std::int64_t>(state_.graph().row(vertex).size());
}

void Refiner::consider_swaps(int vertex, int to, Choice& best) {
  const auto members = state_.members(to);
  const float* bounds = &bounds_[state_.first_place(to)];
  auto most = static_cast<float>(best.value.cost * (1 + kRounding));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (bounds[i] > most || !fits(vertex, members[i], to)) continue;
    consider_swap(vertex, members[i], to, best);
    most = static_cast<float>(best.value.cost * (1 + kRounding));
  }
}

void Refiner::consider_swap(int vertex, int other, int to, Choice& best) {
  const int from = state_.part(vertex);
  const double edge = edge_[static_cast<std::size_t>(other)];
  const double change = state_.locality_change(vertex, from, to) +
                        state_.locality_change(other, to, from) +
                        terms_of(from, to).double_penalty * edge;
  if (!state_.improves(vertex, other, to, edge, change, best.value)) return;
  best.second = other;
  best.to = to;
}

Refiner::Choice Refiner::best_of(int vertex) {
  Choice best{state_.value(), -1, -1};
  const int from = state_.part(vertex), nodes = state_.nodes();
  const double* bytes = state_.bytes_to(vertex);
  const double limit = best.value.cost * (1 + kSame);
  // A vertex gains by going where its peers are, or by leaving the heaviest node.
  const bool everywhere = !selective_ || from == state_.heaviest();
  const bool is_heavy = state_.graph().is_heavy(vertex);
  const int size = state_.graph().size[static_cast<std::size_t>(vertex)];
  targets_.clear();
  for (int to = 0; to < nodes; ++to) {
    if (to == from || (!everywhere && bytes[to] <= 0)) continue;
    if (state_.room(to) >= size) consider_move(vertex, to, best);
    LeastChange& back = least_back_[pair(to, from)];
    if (std::isnan(back.any)) back = least_locality_change(state_, to, from);
    // A heavy partner looks at light ones in its own turn.
    const double least =
        state_.locality_change(vertex, from, to) + (is_heavy ? back.any : back.light);
    if (state_.floor() + least > limit) continue;
    if (has_partners(vertex, to, least, limit)) targets_.push_back(to);
  }
  work_ -= nodes;
  if (!targets_.empty()) {
    spread_edges(vertex);
    for (const int to : targets_) consider_swaps(vertex, to, best);
    gather_edges(vertex);
  }
  if (!is_better(best.value, bar_)) best.to = -1;
  return best;
}

}  // namespace ondeloc::coordinated
