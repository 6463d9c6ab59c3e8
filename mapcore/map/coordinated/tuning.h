// SPDX-License-Identifier: Apache-2.0
// All tuning constants of `coordinated`, each with its value, the reason, and the measurement
// behind the value. "quality" is tests/bench/mapping/quality.cc on tests/data/npb and the generated
// inputs, "speed" is tests/bench/mapping/speed.cc. Constants that are facts (an infinity, a
// rounding error) are defined where they are used. Thread safety: constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mapcore/map/coordinated/tree_relaxed.h"

namespace ondeloc::coordinated::tuning {

// All starts are valued up to this number of ranks. With more ranks, random, ondeloc and locality
// never won (quality, 512 and 1024 ranks) and took a third of the time (speed).
inline constexpr int kAllStarts = 256;
// Factor on the best cost. Refinement does not bring a start beyond this cost to the best (quality,
// 64 and 128 ranks). With few ranks, refinement may do so up to the larger factor (quality, 16 to
// 64 ranks: stencils).
inline constexpr double kWithinReach = 1.03;
inline constexpr double kWithinReachOfFew = 1.2;
inline constexpr int kFewToReach = 64;  // ranks, at most
// Share of the cost: no rank moves for a smaller gain. The share is far above rounding and far
// below the threshold of the decision (mapcore/decide/decider.h).
inline constexpr double kWorthMoving = 1e-6;
// Share of the cost: without a present mapping, a smaller gain leaves the cheapest start, in which
// ranks are mostly in order. Otherwise a few bytes from the start of a program decide.
inline constexpr double kWorthDisorder = 5e-4;
// Factor on the ideal cost: a present mapping below this cost is kept without a fresh solution. A
// smaller gain is not worth a remap: the threshold of the decision is 2 %.
inline constexpr double kNearIdeal = 1.02;
// With at least this number of ranks, two methods that agree are taken for the optimum. With fewer
// ranks, two methods agreed on partitions that were not the best (quality, 16 and 24 ranks).
inline constexpr int kFewestToAgree = 32;
// A graph with at most this mean number of edges per rank is a chain or a plane grid.
inline constexpr std::size_t kSparseEdges = 4;

// Seeds and work of the search. One unit of work is about one candidate.
inline constexpr std::uint64_t kSeed = 5;  // the best of 1 to 10 (quality, tests/data/npb)
inline constexpr std::int64_t kUnlimitedWork = 1'000'000'000;  // far above any descent seen
inline constexpr std::int64_t kCoarseWork = 2000;              // more brings nothing (quality)
inline constexpr std::int64_t kCycleWork = 30;                 // per vertex (quality)
// Work per pair of vertices, in graphs of fewer than kFewVertices vertices. With the work of larger
// graphs, stencils of 24 and 27 ranks stayed 3 to 8 % above annealing (quality).
inline constexpr std::int64_t kPairWork = 16;
inline constexpr int kFewVertices = 32;
inline constexpr std::int64_t kRoundWork = 3;  // factor on the usual work, per round of EFFORT
// The usual work is the smaller of kBaseWork + kEdgeWork per pair and kVertexWork per vertex. This
// is about the work that Scotch needs (speed).
inline constexpr std::int64_t kBaseWork = 4000, kEdgeWork = 25, kVertexWork = 30;
// Up to this number of ranks, a start is refined on the smoothed cost too. Larger graphs were
// already balanced while they were coarse (quality: no difference above).
inline constexpr int kFewToSmooth = 64;
// If ranks have more edges than this on average, coarsening looks only at heavy edges (speed).
inline constexpr std::size_t kDenseEdges = 64;
inline constexpr double kHeavyEdge = 1.01;  // times the mean edge; rounding makes no edge heavy
inline constexpr double kSmoothing = 3;     // divided by the mean load (quality)
inline constexpr int kSettleRounds = 4;     // no case needed more (quality)
inline constexpr int kMoveBackRounds = 4;   // a limit; the rounds end before when no rank moves
// Parts in which a start is valued. A bad start is left after the part that brings its cost above
// the best known cost. Only the time depends on this number: more parts end earlier and value more
// often.
inline constexpr int kValueParts = 4;
// Factor on the median strength: a vertex above this strength is heavy (quality, gromacs).
inline constexpr double kHeavyStrength = 4;
// Up to this number of vertices, every move and swap is tried (speed).
inline constexpr int kExhaustive = 32;
inline constexpr int kExhaustiveDistance = 32;  // the same limit for DistanceRefiner
// Share of the congestion. If the fullest link is above this share, bounds take links into account
// (speed).
inline constexpr double kLinksMatter = 0.97;

// The search over last-level caches (tree_solve.h).
inline constexpr std::int64_t kTreeWork = 80;  // per rank (speed)
// Times kTreeWork, per unit of EFFORT (quality). With EFFORT above 1 and more than kFewOnTree
// ranks, descents have the same limit. Without it, 256 ranks that send almost alike to all took 11
// times as long, and 1024 ranks more than 15 minutes in place of 7 s. With it no cost of
// tests/data/npb or of a stencil was higher, and none of 128 ranks that send to all by more than
// 0.02 %.
inline constexpr std::int64_t kTreeRoundWork = 8;
// Work for few ranks besides, which their short descents leave (quality, 32 ranks; speed).
inline constexpr std::int64_t kTreeWorkOfFew = 6000;
// The same for each pair of a rank and a cache, where this is less (8 and 12 ranks).
inline constexpr std::int64_t kTreeWorkOfPlace = 24;
// With several caches in a node, the search of few ranks goes on with this work for each pair of a
// rank and a cache, unless the present mapping seems to stay. With 100, 200 and 300, annealing
// dominated 8, 5 and 2 cases of 105, with 400 one (quality).
inline constexpr std::int64_t kPlaceWorkOfFew = 400;
inline constexpr int kFewOnTree = 64;  // ranks, at most
// Up to these numbers of ranks, with EFFORT 1 and above, branch and bound looks for the cheapest
// partition first, as far as this work goes for each unit of EFFORT (tree_exact.h). For 8 ranks on
// up to 8 caches a work of 1900 was enough in all of 128 cases and took 10 to 140 us, where a
// search took up to 1.7 ms; on 16 and 32 caches 4000 was enough in 29 of 32. With 10 and 12 ranks
// it was enough in 98 and 80 of 128 cases.
inline constexpr int kVeryFewToProve = 12, kFewToProve = 16;
inline constexpr std::int64_t kProofWork = 4000;
// With fewer ranks that work shrinks in proportion to them: 2472 drawn cases of 8 to 24 ranks
// stayed the same but one, and 8 ranks took 40 % of the time.
inline constexpr int kVeryFew = 16;
// Work of one descent for each rank, with more than kFewOnTree and with more than kManyOnTree
// ranks. With 128 ranks, a mapping without this limit took 5 to 11 % longer (speed), and as many
// cases were dominated (quality). With 512 and 1024 ranks, costs were up to 1.4 % higher than
// without limit, and up to 4.2 % with 200.
inline constexpr std::int64_t kDescentWork = 200, kDescentWorkOfMany = 500;
// Work of one descent from a present mapping with more than kFewOnTree and at most kManyOnTree
// ranks. 420 mappings are the same without this limit (nine sparse patterns of 128, 192 and 256
// ranks, and tests/data/npb). Without it, 256 ranks that all send to all took up to 10 s, and with
// it 0.6 s; random weights cost up to 0.6 % more.
inline constexpr std::int64_t kDescentWorkFromPresent = 3'000'000;
// Edges of the ranks that move, in an exact value, that count as one candidate. An edge takes 10
// ns, a candidate about 100 ns (speed).
inline constexpr std::int64_t kEdgesOfWork = 16;
// Partitions into halves: the effort for few ranks, and the factor on the share of a rank's traffic
// that has left already. Without these partitions, Scotch dominated three tori of 128 ranks by up
// to 6.3 % (quality).
inline constexpr int kHalvesEffort = 3;
inline constexpr double kFarOfHalves = 0.5;
// Share of the cost by which a perturbation may be worse at first. With 0.03 and 0.08, annealing
// dominated more cases (quality).
inline constexpr double kTreeThreshold = 0.05;
// Factor on the cost of a byte between caches of a node: if a byte between nodes of a package costs
// no more, ranks are given to packages first, not to nodes (quality: 2 in place of 4 cases
// dominated by annealing, none in place of 2 by Scotch, and no more time).
inline constexpr double kSmallNodeStep = 1.25;
// Searches on relaxed targets (tree_relaxed.h) before the first search, one after the other, where
// the times of ranks count; for more than kFewOnTree ranks one of them.
inline constexpr Relaxation kRelaxations[] = {{4, true}, {16, true}, {4, false}, {16, false}};
inline constexpr Relaxation kRelaxedLoads = {4, true};
// From the present mapping, if a start is the optimum.
inline constexpr Relaxation kRelaxedPairs = {4, false};
inline constexpr int kManyOnTree = 256;  // ranks; with more, no search on relaxed targets (speed)
// With more than kManyOnTree ranks, candidates that the search for the best move of one rank
// considers, at most. Without this limit the costs were the same within 0.2 %, and few heavy ranks
// took up to five times as long (speed, 512 and 1024 ranks).
inline constexpr int kCandidatesOfMany = 16;
// Factor on the cost of the cheapest start: with many ranks, a fresh solution that costs more is
// not refined (speed: no cost was higher).
inline constexpr double kFarFromStart = 2;
inline constexpr std::int64_t kRelaxedWork = 20;  // for each of few ranks (quality)
// Added to the seeds of the searches from even loads (any large number). Without these searches,
// annealing dominated coordinated:30 in one case, a stencil of 32 ranks, by 2.5 % (quality).
inline constexpr std::uint64_t kSeedsFromEvenLoads = 1000;
inline constexpr int kTreeNodeEffort = 5;  // effort over the nodes if EFFORT is above 1
// Weight of even loads against crossing bytes when the ranks of one node are given caches.
inline constexpr double kInsideLoad = 1e-3;
inline constexpr double kProportion = 1e-9;  // relative difference of bytes and messages

// Sweeps (sweep.h).
inline constexpr std::size_t kChainEdges = 12;   // mean edges of a rank; with more: not a grid
inline constexpr int kLeastSweptRanks = 5;       // per node; merging finds smaller boxes (quality)
inline constexpr double kLightEdge = 0.125;      // share of either rank's heaviest edge
inline constexpr std::size_t kManySwept = 256;   // ranks; with more, fewer orders are tried (speed)
inline constexpr std::size_t kOrdersOfMany = 3;  // the orders of the first three pivots (speed)
// Far vertices from which distances are computed: a plane grid has four corners.
inline constexpr std::size_t kPivots = 4;

}  // namespace ondeloc::coordinated::tuning
