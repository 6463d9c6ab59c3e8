// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

TimeBins TimeBins::merged(std::size_t factor) const {
  TimeBins all(span_, count() / factor);
  const auto parts = static_cast<double>(factor);
  for (std::size_t b = 0; b < count(); ++b) {
    const std::size_t to = b / factor;
    const auto before = static_cast<double>(b % factor), weight = static_cast<double>(messages_[b]);
    all.messages_[to] += messages_[b];
    all.bytes_[to] += bytes_[b];
    all.sum_[to] += (before * weight + sum_[b]) / parts;
    all.square_[to] +=
        (before * before * weight + 2 * before * sum_[b] + square_[b]) / (parts * parts);
  }
  return all;
}

std::uint64_t TimeBins::total() const {
  return std::accumulate(messages_.begin(), messages_.end(), std::uint64_t{0});
}

std::size_t TimeBins::silent() const {
  return static_cast<std::size_t>(std::count(messages_.begin(), messages_.end(), 0U));
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

constexpr std::size_t kBins = 100, kMostBins = 1600;         // powers of two apart
constexpr std::size_t kClusters = 50, kRoomCells = 1 << 26;  // of all matrices

// A clustering of the bins; `at` lists the bins with messages.
struct Choice {
  TimeBins bins;
  std::vector<std::size_t> at = {};
  KMeans found = {};
  std::size_t most = 0;
};

// `most`: 0 without messages.
Choice choose(TimeBins bins, std::size_t clusters, std::size_t most) {
  Choice choice{std::move(bins)};
  const std::vector<WeightedPoint> points = choice.bins.points(choice.at);
  if (points.empty()) return choice;
  choice.most = most;
  choice.found = clusters == 0 ? choose_clusters(points, most, 1, choice.bins.count())
                               : std::move(kmeans_all(points, clusters).back());
  return choice;
}

// Each cluster clears and reads a square of all ranks, so a hash table is faster for many clusters.
int dense_ranks(int ranks, std::size_t clusters) {
  constexpr std::size_t kMostRead = 1 << 28, kFewRanks = 64;
  const auto n = static_cast<std::size_t>(ranks);
  return n * n * clusters <= kMostRead ? PairSum::kDenseRanks : static_cast<int>(kFewRanks);
}

// True if the caller left the number of bins to us.
bool is_ours(const ClusterOptions& options) { return options.bins == 0 && options.clusters == 0; }

// A cluster has no more pairs than messages, so many matrices need no more room than one of each
// message; and none more than its square.
std::size_t most_clusters(const ClusterOptions& options, const TimeBins& bins, int ranks) {
  if (options.max_clusters != 0) return options.max_clusters;
  const std::size_t most = std::max(bins.count() / 2, kClusters);
  if (bins.total() <= kRoomCells) return most;
  const auto n = static_cast<std::size_t>(std::max(ranks, 1));
  return std::min(most, std::max(kClusters, kRoomCells / (n * n)));
}

// The largest number of clusters counts as a result only if the caller asked for that number.
bool is_clear(const Choice& choice, const ClusterOptions& options) {
  return choice.found.k() > 1 && (options.max_clusters != 0 || choice.found.k() < choice.most);
}

std::size_t pauses(const std::vector<std::size_t>& at) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < at.size(); ++i) count += at[i] != at[i - 1] + 1 ? 1 : 0;
  return count;
}

// True if finer bins have found bursts, and neither stretches of a run whose bursts they still do
// not separate, nor single messages.
bool tells_apart(const Choice& choice) {
  const std::size_t k = choice.found.k();
  return 2 * (k - 1) >= pauses(choice.at) && 2 * k <= choice.bins.total();
}

Choice choose_few(TimeBins bins, const ClusterOptions& options, int ranks) {
  const std::size_t most = most_clusters(options, bins, ranks);
  return choose(std::move(bins), 0, most);
}

// Takes the published 100 bins, or the first finer bins that separate bursts.
Choice choose_bins(const TimeBins& finest, const ClusterOptions& options, int ranks) {
  Choice best = choose_few(finest.merged(kMostBins / kBins), options, ranks);
  if (best.most == 0) return best;
  for (std::size_t count = 2 * kBins; count <= kMostBins && !is_clear(best, options); count *= 2) {
    TimeBins bins = finest.merged(kMostBins / count);
    if (3 * bins.silent() < count) continue;
    Choice finer = choose_few(std::move(bins), options, ranks);
    const bool better = is_clear(finer, options) || best.found.k() == 1;
    if (better && tells_apart(finer)) best = std::move(finer);
  }
  return best;
}

TimeBins fill_bins(ProfileReader& profile, TimeWindow span, std::size_t count,
                   const Progress& progress) {
  TimeBins bins(span, count);
  const auto add = [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& event : events) bins.add(event);
  };
  profile.for_each(span, add, progress);
  return bins;
}

Choice choose_in(ProfileReader& profile, TimeWindow span, const ClusterOptions& options,
                 const Progress& progress) {
  const bool ours = is_ours(options);
  const std::size_t count = ours ? kMostBins : options.bins == 0 ? kBins : options.bins;
  TimeBins bins = fill_bins(profile, span, count, progress);
  if (ours) return choose_bins(bins, options, profile.ranks());
  return choose(std::move(bins), options.clusters,
                options.max_clusters == 0 ? kClusters : options.max_clusters);
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

// Reports progress of a part as progress of the whole between `from` and `to`.
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
  Choice choice = choose_in(profile, span, options, part_of(progress, 0, 0.5));
  if (choice.most == 0) return nothing_in(options.window, whole);
  const KMeans& chosen = choice.found;
  Clusters found{std::move(choice.bins), {}, {}, chosen.objective, choice.most, 0};
  found.finest = is_ours(options) ? kMostBins : found.bins.count();
  found.cluster_of_bin.assign(found.bins.count(), -1);
  PairSum sum(profile.ranks(), dense_ranks(profile.ranks(), chosen.k()));
  const auto k = static_cast<double>(chosen.k());
  for (std::size_t c = 0; c < chosen.k(); ++c) {
    const double done = 0.5 + static_cast<double>(c) / k / 2;
    found.clusters.push_back(make_cluster(found, chosen, c, choice.at));
    fill_cluster(profile, sum, found.clusters.back(), part_of(progress, done, done + 0.5 / k));
  }
  return found;
}

}  // namespace ondeloc
