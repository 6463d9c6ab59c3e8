// SPDX-License-Identifier: Apache-2.0
// What the cost of a swap is at least, for all partners in one node at once. Nearly all candidates
// of the search are turned down by such a bound, so it is computed in float, on arrays in the order
// of a node's members, in a loop that compilers turn into vector instructions. Thread safety: pure
// functions.
#pragma once

#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

// A bound in float that is above the limit by less than this is no reason to turn a candidate down.
inline constexpr double kRounding = 2e-6;

// What all swaps between two nodes have in common.
struct SwapTerms {
  int epoch = -1;       // of the state that they were taken from
  double others = 0;    // largest load of the other nodes
  double rest = 0;      // sum of squared loads of the other nodes
  double lightest = 0;  // what the two nodes contribute to the cost at least, however they share
  double double_penalty = 0;
  // 0 while smoothing, when links do not count.
  double per_link = 0;
  double link = 0;               // what the link between the two costs now
  double link_per_locality = 0;  // and what more for a change of locality; 0 where unknown
};

SwapTerms swap_terms(const State& state, int from, int to);

// out[i] = at least the cost after the vertex and members(to)[i] have changed places, but for the
// edge between the two, which only adds to it.
void bound_swaps(const State& state, const SwapTerms& terms, int vertex, int to, float* out);

// The least change of the locality term over members(to) when one of them alone goes to `from`.
struct LeastChange {
  double any, light;  // light: over the vertices that are not heavy
};
LeastChange least_locality_change(const State& state, int to, int from);

}  // namespace ondeloc::coordinated
