// SPDX-License-Identifier: Apache-2.0
// The metrics of DeLocProf: DeLoc thesis (M. Agung, Tohoku University), sections 2.3.4 and 2.3.5,
// equations 2.2 to 2.8. S[i][j]: bytes between i and j in both directions, symmetric, diagonal 0;
// T tasks, Nc clusters, TaskN[C]: tasks that send or receive in cluster C.
//
//   (2.2)  Lcomm   = sum_i sum_j S[i][j]              bytes; a message counts at both its ends
//   (2.3)  CommR   = Lcomm / sum_i MemV[i]
//   (2.4)  CommC   = sum_c TaskN[C_c] / (T Nc)
//   (2.5)  DramR   = sum_i DramV[i] / sum_i MemV[i]
//   (2.6)  N[i][j] = S[i][j] / max S
//   (2.7)  CommLoc = sum_i var(N[i][1..T]) / T        population variance, the diagonal included
//   (2.8)  CommDyn = sum_i compare(M_i, M_{i+1})      intervals of one second, as published
//
// compare is 1 when the two intervals order the tasks differently by their amount of communication
// (bytes sent and received, descending; ties by rank), else 0. The thesis does not define an
// interval without traffic. We skip it and compare the interval after a pause with the last one
// that had traffic, so a pause alone is not a change.
//
// Memory volumes are those of a whole run: with a window that leaves out a part, those of the
// profile are not used, and given ones (MetricOptions::memory) are taken to be of the window.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/profile/clusters.h"
#include "mapcore/profile/likeness.h"
#include "mapcore/profile/reader.h"

namespace ondeloc {

struct Metrics {
  double lcomm = 0;              // bytes
  std::optional<double> comm_r;  // empty: memory volumes unavailable
  double comm_c = 0;             // 0 to 1
  std::optional<double> dram_r;  // empty: DRAM volumes unavailable
  double comm_loc = 0;
  std::uint64_t comm_dyn = 0;
  std::uint64_t compared = 0;   // pairs of intervals that CommDyn compared
  Likeness likeness = {};       // of half intervals
  std::uint64_t intervals = 0;  // silent ones included
  double interval_s = 0;
  double seconds = 0;  // from the first to the last message
  int tasks = 0;       // T
};

// The least cosine of two patterns that count as alike, the value by which the mapper separates
// phases (mapcore/decide/decider.h).
inline constexpr double kAlike = 0.9;

// Per interval, per rank: bytes sent and received. Row-major intervals x ranks.
struct RankLoads {
  int ranks = 0;
  std::vector<std::uint64_t> bytes;
  // Likeness of half intervals: a phase that lasts for an interval shows twice. With intervals of a
  // second the mapper looks as often.
  PatternSketches patterns = {};
  std::size_t intervals() const {
    return ranks == 0 ? 0 : bytes.size() / static_cast<std::size_t>(ranks);
  }
};

double total_communication(const Traffic& traffic);                              // 2.2
double communication_concurrency(std::span<const Cluster> clusters, int tasks);  // 2.4
double communication_locality(const Traffic& traffic);                           // 2.6, 2.7
struct Dynamic {
  std::uint64_t changes = 0, compared = 0;
};
Dynamic communication_dynamic(const RankLoads& loads);  // 2.8
// Error: more than 2^26 cells; the sentence asks for longer intervals.
Result<RankLoads> rank_loads(ProfileReader& profile, const TimeWindow& window,
                             std::uint64_t interval_ns, const Progress& progress = {});

struct MetricOptions {
  ClusterOptions clusters;
  std::uint64_t interval_ns = 1'000'000'000;
  std::vector<RankMemory> memory;  // instead of what the profile holds; empty: the profile's
};

// MemV and DramV are used only if every rank has them.
Result<Metrics> compute_metrics(ProfileReader& profile, const Clusters& clusters,
                                const MetricOptions& options, const Progress& progress = {});

}  // namespace ondeloc
