// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/clusters.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/profile/pair_sum.h"

namespace ondeloc {

using Wide = unsigned __int128;

TimeBins::TimeBins(TimeWindow span, std::size_t count)
    : span_(span), messages_(count), bytes_(count), sum_(count), square_(count) {}

double TimeBins::width_ns() const {
  return static_cast<double>(span_.to_ns - span_.from_ns) / static_cast<double>(count());
}

std::size_t TimeBins::index(std::uint64_t time_ns) const {
  return static_cast<std::size_t>(static_cast<Wide>(time_ns - span_.from_ns) * count() /
                                  (span_.to_ns - span_.from_ns));
}

std::uint64_t TimeBins::begin_ns(std::size_t bin) const {
  const Wide scaled = static_cast<Wide>(bin) * (span_.to_ns - span_.from_ns) + count() - 1;
  return span_.from_ns + static_cast<std::uint64_t>(scaled / count());
}

void TimeBins::add(const ProfileEvent& event) {
  if (event.src == event.dst || !span_.contains(event.time_ns)) return;
  const std::size_t bin = index(event.time_ns);
  const double place =
      static_cast<double>(event.time_ns - span_.from_ns) / width_ns() - static_cast<double>(bin);
  ++messages_[bin];
  bytes_[bin] += static_cast<double>(event.bytes);
  sum_[bin] += place;
  square_[bin] += place * place;
}

std::vector<WeightedPoint> TimeBins::points(std::vector<std::size_t>& bins) const {
  std::vector<WeightedPoint> points;
  bins.clear();
  for (std::size_t b = 0; b < count(); ++b) {
    if (messages_[b] == 0) continue;
    const auto at = static_cast<double>(b), weight = static_cast<double>(messages_[b]);
    points.push_back(
        {weight, weight * at + sum_[b], weight * at * at + 2 * at * sum_[b] + square_[b]});
    bins.push_back(b);
  }
  return points;
}

namespace {

int tasks_in(const CommMatrix& matrix) {
  std::vector<bool> seen(static_cast<std::size_t>(matrix.ranks));
  for (const MatrixEntry& entry : matrix.entries)
    seen[static_cast<std::size_t>(entry.src)] = seen[static_cast<std::size_t>(entry.dst)] = true;
  return static_cast<int>(std::count(seen.begin(), seen.end(), true));
}

void fill_cluster(ProfileReader& profile, PairSum& sum, Cluster& cluster,
                  const Progress& progress) {
  sum.clear();
  const auto add = [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) sum.add(event);
  };
  profile.for_each(cluster.time, add, progress);
  cluster.matrix = sum.matrix();
  cluster.tasks = tasks_in(cluster.matrix);
  cluster.bytes = cluster.matrix.total_bytes();
}

// Cluster c of `chosen`, whose points stand in the bins `bins`.
Cluster make_cluster(Clusters& found, const KMeans& chosen, std::size_t c,
                     const std::vector<std::size_t>& bins) {
  Cluster cluster;
  const std::size_t first = bins[chosen.begin[c]], last = bins[chosen.begin[c + 1] - 1];
  cluster.time = {found.bins.begin_ns(first), found.bins.begin_ns(last + 1)};
  for (std::size_t i = chosen.begin[c]; i < chosen.begin[c + 1]; ++i) {
    found.cluster_of_bin[bins[i]] = static_cast<int>(c);
    cluster.messages += found.bins.messages()[bins[i]];
  }
  return cluster;
}

// From `from` to `to` of the whole, while the part goes from 0 to 1.
Progress part_of(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [=](double share) { progress(from + share * (to - from)); };
}

Error nothing_in(const TimeWindow& window, const TimeWindow& whole) {
  const bool all = window.from_ns <= whole.from_ns && window.to_ns >= whole.to_ns;
  return Error(fmt::format("no message between different ranks {}",
                           all ? "is in the profile" : "lies in this time window"));
}

}  // namespace

Result<Clusters> find_clusters(ProfileReader& profile, const ClusterOptions& options,
                               const Progress& progress) {
  const TimeWindow whole = profile.span();
  const TimeWindow span{std::max(whole.from_ns, options.window.from_ns),
                        std::min(whole.to_ns, options.window.to_ns)};
  if (span.from_ns >= span.to_ns) return nothing_in(options.window, whole);
  Clusters found{TimeBins(span, options.bins), std::vector<int>(options.bins, -1), {}, 0};
  const auto add = [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) found.bins.add(event);
  };
  profile.for_each(span, add, part_of(progress, 0, 0.5));
  std::vector<std::size_t> bins;
  const std::vector<WeightedPoint> points = found.bins.points(bins);
  if (points.empty()) return nothing_in(options.window, whole);
  const KMeans chosen = options.clusters == 0
                            ? choose_clusters(points, options.max_clusters, 1, options.bins)
                            : std::move(kmeans_all(points, options.clusters).back());
  found.objective = chosen.objective;
  PairSum sum(profile.ranks());
  const auto k = static_cast<double>(chosen.k());
  for (std::size_t c = 0; c < chosen.k(); ++c) {
    const double done = 0.5 + static_cast<double>(c) / k / 2;
    found.clusters.push_back(make_cluster(found, chosen, c, bins));
    fill_cluster(profile, sum, found.clusters.back(), part_of(progress, done, done + 0.5 / k));
  }
  return found;
}

}  // namespace ondeloc
