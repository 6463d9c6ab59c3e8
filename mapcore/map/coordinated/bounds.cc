// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/bounds.h"

#include <algorithm>
#include <limits>

namespace ondeloc::coordinated {
namespace {

double load_of(const State& state, int node) {
  return state.load(node) * state.target().per_byte[node];
}

// Numbers of one vertex and one pair of nodes, in units of Target, that the loops below need.
struct Candidates {
  int count;
  float load_a, load_b, per_a, per_b;  // without the vertex in a, with it in b
  float base;                          // locality after the vertex has moved
  float penalty;
  const float* weight;    // bytes of each partner
  const float* in_own;    // bytes between each partner and the partner's node
  const float* in_other;  // bytes between each partner and the vertex's node
};

// Adds the locality to the congestion: the largest load of the two nodes, the other nodes and the
// link between the two nodes.
void bound_congestion(const Candidates& c, float others, float crossing, float per_link,
                      float* out) {
  for (int i = 0; i < c.count; ++i) {
    const float back = c.in_own[i] - c.in_other[i];
    const float a = (c.load_a + c.weight[i]) * c.per_a, b = (c.load_b - c.weight[i]) * c.per_b;
    const float node = a > b ? a : b;
    const float link = (crossing + back) * per_link;
    const float most = node > link ? node : link;
    out[i] = (most > others ? most : others) + (c.base + c.penalty * back);
  }
}

void bound_smoothed(const Candidates& c, float smoothing, float rest, float* out) {
  for (int i = 0; i < c.count; ++i) {
    const float back = c.in_own[i] - c.in_other[i];
    const float a = (c.load_a + c.weight[i]) * c.per_a, b = (c.load_b - c.weight[i]) * c.per_b;
    out[i] = smoothing * (rest + a * a + b * b) + (c.base + c.penalty * back);
  }
}

// If penalties differ between pairs of nodes, the change of locality depends on all nodes.
void bound_exactly(const State& state, const SwapTerms& terms, int vertex, int to, float* out) {
  const int from = state.part(vertex);
  const double base = terms.lightest + state.locality() + state.locality_change(vertex, from, to);
  for (const int other : state.members(to))
    *out++ = static_cast<float>(base + state.locality_change(other, to, from));
}

}  // namespace

SwapTerms swap_terms(const State& state, int from, int to) {
  const Target& target = state.target();
  const double per_a = target.per_byte[from];
  const double per_b = target.per_byte[to];
  const double load_a = load_of(state, from), load_b = load_of(state, to);
  const auto at = static_cast<std::size_t>(from) * static_cast<std::size_t>(state.nodes()) +
                  static_cast<std::size_t>(to);
  SwapTerms terms;
  terms.epoch = state.epoch();
  terms.others = state.largest_load_without(from, to);
  terms.rest = state.value().squares - load_a * load_a - load_b * load_b;
  terms.double_penalty = 2 * target.penalty[at];
  const double both = load_a + load_b;
  if (state.smoothing() > 0) {
    terms.lightest = state.smoothing() * (terms.rest + (per_a == per_b ? both * both / 2 : 0));
    return terms;
  }
  terms.per_link = target.link_per_byte[at];
  terms.link = state.link(from, to) * terms.per_link;
  if (target.uniform_penalty && target.penalty[at] > 0) {
    terms.link_per_locality = terms.per_link / target.penalty[at];
  } else {
    terms.link = 0;
  }
  // The heavier of the two nodes has at least the load that an even split would give it.
  const double even = per_a == per_b
                          ? both / 2
                          : (state.load(from) + state.load(to)) * per_a * per_b / (per_a + per_b);
  terms.lightest = std::max(terms.others, even);
  return terms;
}

void bound_swaps(const State& state, const SwapTerms& terms, int vertex, int to, float* out) {
  const Target& target = state.target();
  if (!target.uniform_penalty) return bound_exactly(state, terms, vertex, to, out);
  const int from = state.part(vertex);
  const double unit = target.unit;
  const double strength = state.graph().strength[vertex];
  const double* bytes = state.bytes_to(vertex);
  const Candidates candidates{
      static_cast<int>(state.members(to).size()),
      static_cast<float>((state.load(from) - strength) * unit),
      static_cast<float>((state.load(to) + strength) * unit),
      static_cast<float>(target.per_byte[from] / unit),
      static_cast<float>(target.per_byte[to] / unit),
      static_cast<float>(state.locality() + state.locality_change(vertex, from, to)),
      static_cast<float>(terms.double_penalty / 2 / unit),
      state.weights_of(to),
      state.weights_between(to, to),
      state.weights_between(to, from)};
  if (state.smoothing() > 0) {
    return bound_smoothed(candidates, static_cast<float>(state.smoothing()),
                          static_cast<float>(terms.rest), out);
  }
  const double crossing = state.link(from, to) + bytes[from] - bytes[to];
  bound_congestion(candidates, static_cast<float>(terms.others),
                   static_cast<float>(crossing * unit), static_cast<float>(terms.per_link / unit),
                   out);
}

namespace {

constexpr int kLanes = 4;
constexpr float kNoChange = std::numeric_limits<float>::infinity();
constexpr float kDifferenceError = 3e-7F;  // relative error of a difference of two rounded numbers

// The lanes hold four minima side by side, so that no addition waits for the previous addition.
struct Lanes {
  float any[kLanes] = {kNoChange, kNoChange, kNoChange, kNoChange};
  float light[kLanes] = {kNoChange, kNoChange, kNoChange, kNoChange};
  void add(int lane, float own, float other, bool is_light) {
    const float change = (own - other) - kDifferenceError * (own + other);
    any[lane] = change < any[lane] ? change : any[lane];
    // NOLINTNEXTLINE(bugprone-narrowing-conversions): infinity is a float
    const float counted = is_light ? change : kNoChange;
    light[lane] = counted < light[lane] ? counted : light[lane];
  }
};

LeastChange least_uniform(const State& state, int to, int from) {
  const float* own = state.weights_between(to, to);
  const float* other = state.weights_between(to, from);
  const float* weight = state.weights_of(to);
  const auto heavy = static_cast<float>(state.graph().heavy * state.target().unit);
  const int count = static_cast<int>(state.members(to).size());
  Lanes lanes;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane)
      lanes.add(lane, own[i + lane], other[i + lane], weight[i + lane] <= heavy);
  }
  for (; i < count; ++i) lanes.add(0, own[i], other[i], weight[i] <= heavy);
  const Target& target = state.target();
  const double penalty = target.penalty[target.nodes > 1 ? 1 : 0] / target.unit;
  return {penalty * static_cast<double>(*std::min_element(lanes.any, lanes.any + kLanes)),
          penalty * static_cast<double>(*std::min_element(lanes.light, lanes.light + kLanes))};
}

}  // namespace

LeastChange least_locality_change(const State& state, int to, int from) {
  if (state.target().uniform_penalty) return least_uniform(state, to, from);
  LeastChange least{std::numeric_limits<double>::infinity(),
                    std::numeric_limits<double>::infinity()};
  for (const int other : state.members(to)) {
    const double change = state.locality_change(other, to, from);
    if (!state.graph().is_heavy(other)) least.light = std::min(least.light, change);
    least.any = std::min(least.any, change);
  }
  return least;
}

}  // namespace ondeloc::coordinated
