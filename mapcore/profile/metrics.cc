// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "mapcore/profile/pair_sum.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc {

double total_communication(const Traffic& traffic) { return 2 * traffic.total(); }

double communication_concurrency(std::span<const Cluster> clusters, int tasks) {
  if (clusters.empty() || tasks == 0) return 0;
  double sum = 0;
  for (const Cluster& cluster : clusters) sum += cluster.tasks;
  return sum / (static_cast<double>(tasks) * static_cast<double>(clusters.size()));
}

double communication_locality(const Traffic& traffic) {
  double most = 0;
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i)) most = std::max(most, edge.bytes);
  }
  if (most == 0) return 0;
  const auto n = static_cast<double>(traffic.ranks());
  double variances = 0;
  for (int i = 0; i < traffic.ranks(); ++i) {
    const double mean = traffic.strength(i) / most / n;
    double squares = (n - static_cast<double>(traffic.edges(i).size())) * mean * mean;
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      const double away = edge.bytes / most - mean;
      squares += away * away;
    }
    variances += squares / n;
  }
  return variances / n;
}

namespace {

std::vector<int> task_sequence(std::span<const std::uint64_t> bytes) {
  std::vector<int> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return bytes[static_cast<std::size_t>(a)] > bytes[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace

Dynamic communication_dynamic(const RankLoads& loads) {
  const auto n = static_cast<std::size_t>(loads.ranks);
  Dynamic found;
  std::vector<int> before;
  for (std::size_t i = 0; i < loads.intervals(); ++i) {
    const auto bytes = std::span(loads.bytes).subspan(i * n, n);
    if (std::all_of(bytes.begin(), bytes.end(), [](std::uint64_t b) { return b == 0; })) continue;
    std::vector<int> now = task_sequence(bytes);
    found.compared += before.empty() ? 0 : 1;
    found.changes += !before.empty() && now != before ? 1 : 0;
    before = std::move(now);
  }
  return found;
}

Result<RankLoads> rank_loads(ProfileReader& profile, const TimeWindow& window,
                             std::uint64_t interval_ns, const Progress& progress) {
  const TimeWindow span = clip(window, profile.span());
  const std::uint64_t length = span.to_ns - span.from_ns;
  const std::uint64_t intervals = length / interval_ns + (length % interval_ns != 0 ? 1 : 0);
  const auto ranks = static_cast<std::uint64_t>(profile.ranks());
  if (intervals > (1ULL << 26) / ranks) {
    return Error(fmt::format("{} intervals of {} ranks are too many: use a longer --interval",
                             intervals, ranks));
  }
  RankLoads loads{profile.ranks(), std::vector<std::uint64_t>(intervals * ranks),
                  PatternSketches(2 * intervals)};
  profile.for_each(
      span,
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) {
          if (event.src == event.dst) continue;
          const std::uint64_t since = event.time_ns - span.from_ns;
          const std::uint64_t interval = since / interval_ns, row = interval * ranks;
          const bool second_half = since % interval_ns >= interval_ns - interval_ns / 2;
          loads.patterns.add(2 * interval + (second_half ? 1 : 0), event.src, event.dst,
                             event.bytes);
          loads.bytes[row + event.src] += event.bytes;
          loads.bytes[row + event.dst] += event.bytes;
        }
      },
      progress);
  return loads;
}

namespace {

struct MemorySums {
  std::optional<double> accessed, dram;
};

MemorySums add_up(const std::vector<RankMemory>& memory, int ranks) {
  if (memory.size() < static_cast<std::size_t>(ranks)) return {};
  double accessed = 0, dram = 0;
  bool dram_known = true;
  for (const RankMemory& rank : memory) {
    accessed += static_cast<double>(rank.accessed);
    dram += static_cast<double>(rank.dram);
    dram_known &= rank.dram_known;
  }
  if (accessed <= 0) return {};
  return {accessed, dram_known ? std::optional(dram) : std::nullopt};
}

}  // namespace

Result<Metrics> compute_metrics(ProfileReader& profile, const Clusters& clusters,
                                const MetricOptions& options, const Progress& progress) {
  auto loads = rank_loads(profile, options.clusters.window, options.interval_ns, progress);
  if (!loads) return std::move(loads).error();
  const Traffic traffic(profile_matrix(profile, options.clusters.window));
  const TimeWindow span = clip(options.clusters.window, profile.span());
  Metrics metrics;
  metrics.tasks = profile.ranks();
  metrics.seconds = static_cast<double>(span.to_ns - span.from_ns) * 1e-9;
  metrics.interval_s = static_cast<double>(options.interval_ns) * 1e-9;
  metrics.intervals = loads->intervals();
  metrics.lcomm = total_communication(traffic);
  metrics.comm_c = communication_concurrency(clusters.clusters, metrics.tasks);
  metrics.comm_loc = communication_locality(traffic);
  const Dynamic dynamic = communication_dynamic(*loads);
  metrics.comm_dyn = dynamic.changes;
  metrics.compared = dynamic.compared;
  metrics.likeness = loads->patterns.likeness(kAlike);
  const bool whole = covers_run(profile, options.clusters.window);
  const MemorySums memory = !options.memory.empty() ? add_up(options.memory, metrics.tasks)
                            : whole                 ? add_up(profile.memory(), metrics.tasks)
                                                    : MemorySums{};
  if (memory.accessed) metrics.comm_r = metrics.lcomm / *memory.accessed;
  if (memory.dram) metrics.dram_r = *memory.dram / *memory.accessed;
  return metrics;
}

}  // namespace ondeloc
