// SPDX-License-Identifier: Apache-2.0
// Lower bounds of the cost of a swap, for all partners in one node at once. The search rejects
// nearly all candidates by these bounds. The bounds are therefore computed in float, on arrays in
// the order of a node's members, in loops that compilers turn into vector instructions. Thread
// safety: pure functions.
#pragma once

#include "mapcore/map/coordinated/state.h"

namespace ondeloc::coordinated {

// Relative tolerance of the bounds in float. A candidate is not rejected if its bound exceeds the
// limit by less than this tolerance.
inline constexpr double kRounding = 2e-6;

// Terms that all swaps between two nodes share.
struct SwapTerms {
  int epoch = -1;       // epoch of the state that the terms come from
  double others = 0;    // largest load of the other nodes
  double rest = 0;      // sum of squared loads of the other nodes
  double lightest = 0;  // least load term of the cost, for any split of load between the two nodes
  double double_penalty = 0;
  // 0 while smoothing: the smoothed cost ignores links.
  double per_link = 0;
  double link = 0;               // present cost of the link between the two nodes
  double link_per_locality = 0;  // increase of `link` for each unit of locality; 0 if unknown
};

SwapTerms swap_terms(const State& state, int from, int to);

// Writes to out[i] a lower bound of the cost after the vertex and members(to)[i] exchange nodes.
// The bound leaves out the edge between the two vertices, which can only add to the cost.
void bound_swaps(const State& state, const SwapTerms& terms, int vertex, int to, float* out);

// The least change of the locality term when one member of `to` moves alone to `from`.
struct LeastChange {
  double any, light;  // light: over the vertices that are not heavy
};
LeastChange least_locality_change(const State& state, int to, int from);

}  // namespace ondeloc::coordinated
