// SPDX-License-Identifier: Apache-2.0
// Recursive bisection by sweeps. Ranks are ordered by how much nearer they are to one of two
// distant ranks than to the other, and every cut of that order is valued. On chains and grids of
// any number of ranks, powers of two or not, the cuts give contiguous pieces and boxes, which
// merging (multilevel.h) misses. Distances count edges, without light edges. Distant ranks are
// chosen by farthest-first traversal (T. F. Gonzalez, Theor. Comput. Sci. 38, 1985); coordinates by
// such pivots: D. Harel and Y. Koren, "Graph drawing by high-dimensional embedding", GD 2002; cuts
// along a sweep: A. Pothen, H. D. Simon, K.-P. Liou, SIAM J. Matrix Anal. Appl. 11(3), 1990, which
// orders by an eigenvector. Thread safety: pure function.
#pragma once

#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// REQUIRES: vertices are single ranks. Returns an empty part if the graph is too dense to have such
// a shape, or as soon as the cost turns out not to be below `limit`. `rows`: of the graph.
Part sweep_start(const Graph& graph, std::span<const Row> rows, const Target& target,
                 double limit = std::numeric_limits<double>::max());

}  // namespace ondeloc::coordinated
