// SPDX-License-Identifier: Apache-2.0
// Recursive bisection by sweeps: ranks are ordered by how much nearer they are to one of two far
// apart ranks than to the other, and every place to cut that order is valued. On chains and grids,
// whatever the numbers of their ranks and whether or not these are powers of two, that gives
// contiguous pieces and boxes, which merging (multilevel.h) misses. Distances in edges, light ones
// left out; ranks far apart as in farthest-first traversal (T. F. Gonzalez, Theor. Comput. Sci. 38,
// 1985); coordinates by such pivots: D. Harel and Y. Koren, "Graph drawing by high-dimensional
// embedding", GD 2002; cuts along a sweep: A. Pothen, H. D. Simon, K.-P. Liou, SIAM J. Matrix Anal.
// Appl. 11(3), 1990, which orders by an eigenvector. Thread safety: pure function.
#pragma once

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// REQUIRES: vertices are single ranks. Empty where the graph is too dense to have such a shape, and
// where the cost is found not to be below `limit`, before all is done.
// `rows`: of the graph.
Part sweep_start(const Graph& graph, std::span<const Row> rows, const Target& target,
                 double limit = std::numeric_limits<double>::max());

}  // namespace ondeloc::coordinated
