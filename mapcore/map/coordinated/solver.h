// SPDX-License-Identifier: Apache-2.0
// Partitions a graph of ranks over parts of one kind: NUMA nodes, or the last-level caches of one
// node. The solver minimises congestion + locality of Target by moves and swaps with gains kept
// incrementally (refine.h, state.h). The starts are the present partition, packed, scatter, random,
// balance, the growth of locality and of multilevel, and ondeloc. The result is therefore never
// worse than any of these (above 256 ranks: packed, scatter and balance only). Steps:
//
//   0. a partition that costs no more than a lower bound of all partitions (valuation.h) is kept at
//      once;
//   1. every start is valued. The present mapping is kept if it is a local optimum, no start is
//      better and a fresh solution of the coarsest graph costs no less: this is the usual interval.
//      The fresh solution is left out if the present mapping costs hardly more than even loads and
//      the bytes that locality leaves between nodes;
//   2. the better of two solutions is refined, on the smoothed cost too: the best start (or the
//      blocks that merging gives), or a multilevel solution. If both are equally good and
//      refinement finds nothing better, the solver takes them for the optimum: two independent
//      methods seldom agree by chance (124 of 478 cases of the benches and more of their kind; step
//      3 found nothing better in any). Both methods may fail alike on chains and plane grids (a
//      shuffled chain of 48 ranks), so these are swept before the solver stops (sweep.h). If the
//      two differ, every sparse graph is refined from a sweep as well, and the worse solution too
//      if it costs little more;
//   3. the best partition is perturbed and refined again, first as a graph of groups, then rank by
//      rank, as long as counted work lasts and brings an improvement;
//   4. with coordinated:EFFORT the search goes on for EFFORT - 1 rounds, whatever steps 2 and 3
//      have found. Each round refines another multilevel solution, of ranks merged in another
//      order, searches among other groups and has several times the usual work;
//   5. nodes are renamed and ranks moved back so that as many ranks as possible stay where they
//      are. If the gain is next to nothing, all ranks stay. Without a present partition, nodes are
//      renamed so that the ranks are in order, and a gain next to nothing leaves the best start.
//
// Thread safety: pure function.
#pragma once

#include "mapcore/map/coordinated/search.h"

namespace ondeloc::coordinated {

// All references outlive the call.
struct Problem {
  RankGraph& ranks;
  const Target& target;
  const std::vector<double>& distances;  // for the start `locality`, row-major parts x parts
  const Part& previous;                  // empty: none
  // 0: the better of two fresh solutions, refined once; below 0: a rough one (search.h), to
  // compare with. In both cases the starts do not count.
  int effort = 1;
  const Levels* levels = nullptr;  // of the ranks, if the caller has made them; else made here
};

Part solve_partition(const Problem& problem);

// True if only one part has slots, or if there is no traffic.
inline bool has_nothing_to_gain(const Target& target) {
  return target.mean_load <= 0 || target.usable < 2;
}

}  // namespace ondeloc::coordinated
