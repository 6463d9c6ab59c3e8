// SPDX-License-Identifier: Apache-2.0
// Finds the best move or swap of one vertex: bounds reject most candidates, exact values decide
// among the others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mapcore/map/coordinated/refine.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr LeastChange kNotKnown{std::numeric_limits<double>::quiet_NaN(), 0};

}  // namespace

const SwapTerms& Refiner::terms_of(int from, int to) {
  SwapTerms& terms = terms_[pair(from, to)];
  if (terms.epoch != state_.epoch()) terms = swap_terms(state_, from, to);
  return terms;
}

void Refiner::forget_all() { std::fill(least_back_.begin(), least_back_.end(), kNotKnown); }

// Forgets the least changes between any node and a or b, after a vertex moved between a and b. If
// penalties differ, forgets all least changes.
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
  const int grows = size[first] - (second >= 0 ? size[second] : 0);
  if (grows == 0) return true;
  return grows > 0 ? state_.free_slots(to) >= grows
                   : state_.free_slots(state_.part(first)) >= -grows;
}

void Refiner::consider_move(int vertex, int to, Choice& best) {
  const double change = state_.locality_change(vertex, state_.part(vertex), to);
  if (!state_.improves(vertex, -1, to, 0, change, best.value)) return;
  best.second = -1;
  best.to = to;
}

// Computes the bounds of the swaps with all members of `to`. Returns false if every swap there is
// above the limit. `least`: least change of locality by the vertex and any of the members together.
bool Refiner::has_partners(int vertex, int to, double least, double limit) {
  const SwapTerms& terms = terms_of(state_.part(vertex), to);
  const double pulled = terms.double_penalty * least_edge_[vertex];
  const double link = terms.link + least * terms.link_per_locality;
  if (std::max(terms.lightest, link) + state_.locality() + least + pulled > limit) return false;
  const auto count = static_cast<int>(state_.members(to).size());
  work_ -= count;
  float* bounds = &bounds_[state_.first_position(to)];
  bound_swaps(state_, terms, vertex, to, bounds);
  const auto most = static_cast<float>(limit * (1 + kRounding));
  int below = 0;
  for (int i = 0; i < count; ++i) below += bounds[i] <= most ? 1 : 0;
  return below > 0;
}

// Adds the edge between the vertex and each partner to the partner's bound. The bytes of such an
// edge still cross after the swap, so the change of locality counts these bytes twice. If the
// fullest link is close to the congestion, the bound also takes the load of the link between the
// two nodes into account.
void Refiner::spread_edges(int vertex) {
  const int from = state_.part(vertex);
  const double* bytes = state_.bytes_to(vertex);
  const bool links_count =
      state_.smoothing() == 0 && state_.target().uniform_penalty &&
      state_.largest_link() > tuning::kLinksMatter * (state_.value().cost - state_.locality());
  for (const Traffic::Edge& edge : state_.graph().row(vertex)) {
    const int to = state_.part(edge.peer);
    const SwapTerms& terms = terms_[pair(from, to)];
    edge_[edge.peer] = edge.bytes;
    float& bound = bounds_[state_.position(edge.peer)];
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
  for (const Traffic::Edge& edge : state_.graph().row(vertex)) edge_[edge.peer] = 0;
  work_ -= static_cast<std::int64_t>(state_.graph().row(vertex).size());
}

void Refiner::consider_swaps(int vertex, int to, Choice& best) {
  const auto members = state_.members(to);
  const float* bounds = &bounds_[state_.first_position(to)];
  auto most = static_cast<float>(best.value.cost * (1 + kRounding));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (bounds[i] > most || !fits(vertex, members[i], to)) continue;
    consider_swap(vertex, members[i], to, best);
    most = static_cast<float>(best.value.cost * (1 + kRounding));
  }
}

void Refiner::consider_swap(int vertex, int other, int to, Choice& best) {
  const int from = state_.part(vertex);
  const double edge = edge_[other];
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
  const double limit = best.value.cost * (1 + kTieTolerance);
  // A vertex gains by moving to a node with its peers, or by leaving the heaviest node.
  const bool everywhere = !selective_ || from == state_.heaviest();
  const bool is_heavy = state_.graph().is_heavy(vertex);
  const int size = state_.graph().size[vertex];
  targets_.clear();
  for (int to = 0; to < nodes; ++to) {
    if (to == from || (!everywhere && bytes[to] <= 0)) continue;
    if (state_.free_slots(to) >= size) consider_move(vertex, to, best);
    LeastChange& back = least_back_[pair(to, from)];
    if (std::isnan(back.any)) back = least_locality_change(state_, to, from);
    // Swaps of a light vertex with a heavy partner are considered when the heavy partner is
    // visited.
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
  if (!acceptance_.allows(best.value)) best.to = -1;
  return best;
}

}  // namespace ondeloc::coordinated
