// SPDX-License-Identifier: Apache-2.0
// Golden clusters: bins, the optimum of equation 2.1 over all cuts, and BIC written out from the
// events of a CSV file, nothing shared with the library.
#include "mapcore/profile/clusters.h"

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <random>

#include "tests/unit/profile/csv_rows.h"
#include "tests/unit/profile/profile_fixture.h"

using namespace ondeloc;

namespace {

struct Message {
  double time;  // bins
  long bin, src, dst, bytes;
};

std::vector<Message> messages_of(const std::string& app) {
  const std::vector<Row> rows = csv_rows(app);
  const long first = rows.front().time * 1000;
  const long span = rows.back().time * 1000 - first + 1;  // ns
  std::vector<Message> all;
  for (const Row& row : rows) {
    const long since = (row.time * 1000 - first) * 100;
    all.push_back({static_cast<double>(since) / static_cast<double>(span), since / span, row.src,
                   row.dst, row.bytes});
  }
  std::erase_if(all, [](const Message& m) { return m.src == m.dst; });
  return all;
}

struct Bin {
  long index;
  std::vector<double> times;
};

// Spread of the messages of bins from .. to - 1 around their mean.
double spread(const std::vector<Bin>& bins, std::size_t from, std::size_t to) {
  double sum = 0, count = 0, squares = 0;
  for (std::size_t b = from; b < to; ++b) {
    for (const double t : bins[b].times) sum += t;
    count += static_cast<double>(bins[b].times.size());
  }
  for (std::size_t b = from; b < to; ++b)
    for (const double t : bins[b].times) squares += (t - sum / count) * (t - sum / count);
  return squares;
}

struct Golden {
  double objective = 0;
  std::vector<std::size_t> first;  // bin that each cluster begins with, and the end
};

// Optimal cuts of all bins into 1 .. most clusters.
std::vector<Golden> optima(const std::vector<Bin>& bins, std::size_t most) {
  const std::size_t n = bins.size();
  std::vector<std::vector<double>> cost(n + 1, std::vector<double>(n + 1));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j <= n; ++j) cost[i][j] = spread(bins, i, j);
  std::vector<Golden> best(n + 1);  // of the first j bins
  for (std::size_t j = 1; j <= n; ++j) best[j] = {cost[0][j], {0, j}};
  std::vector<Golden> all{best[n]};
  for (std::size_t k = 2; k <= std::min(most, n); ++k) {
    std::vector<Golden> next(n + 1);
    for (std::size_t j = k; j <= n; ++j) {
      next[j].objective = std::numeric_limits<double>::infinity();
      for (std::size_t i = k - 1; i < j; ++i) {
        if (best[i].objective + cost[i][j] >= next[j].objective) continue;
        next[j] = {best[i].objective + cost[i][j], best[i].first};
        next[j].first.push_back(j);
      }
    }
    best = std::move(next);
    all.push_back(best[n]);
  }
  return all;
}

// X-means' criterion with one variance, at least that of a bin; sample size: the bins.
double criterion(const std::vector<Bin>& bins, const Golden& cut) {
  const auto r = static_cast<double>(bins.size()), k = static_cast<double>(cut.first.size() - 1);
  double messages = 0, sum = 0;
  for (const Bin& bin : bins) messages += static_cast<double>(bin.times.size());
  const double variance = std::max(cut.objective / messages * r / std::max(r - k, 1.0), 1.0 / 12);
  for (std::size_t c = 0; c + 1 < cut.first.size(); ++c) {
    double inside = 0;
    for (std::size_t b = cut.first[c]; b < cut.first[c + 1]; ++b)
      inside += static_cast<double>(bins[b].times.size());
    sum += r * inside / messages * std::log(inside / messages);
  }
  return sum - r / 2 * std::log(2 * std::numbers::pi * variance) - (r - k) / 2 - k * std::log(r);
}

Golden golden(const std::vector<Bin>& bins) {
  const std::vector<Golden> all = optima(bins, 50);
  return *std::max_element(all.begin(), all.end(), [&](const Golden& a, const Golden& b) {
    return criterion(bins, a) < criterion(bins, b);
  });
}

}  // namespace

TEST_CASE("clusters of NPB are those of the direct formulas") {
  const TempDir dir;
  for (const char* app : {"ep", "ft", "is", "mg"}) {
    CAPTURE(app);
    const std::vector<Message> messages = messages_of(app);
    std::vector<Bin> bins;
    for (const Message& m : messages) {
      if (bins.empty() || bins.back().index != m.bin) bins.push_back({m.bin, {}});
      bins.back().times.push_back(m.time);
    }
    const Golden wanted = golden(bins);
    ProfileReader reader = open_npb(dir, app);
    const Clusters found = *find_clusters(reader);
    CHECK(found.objective == Approx(wanted.objective).epsilon(1e-6));
    REQUIRE(found.clusters.size() == wanted.first.size() - 1);
    for (std::size_t c = 0; c < found.clusters.size(); ++c) {
      const long from = bins[wanted.first[c]].index, to = bins[wanted.first[c + 1] - 1].index;
      std::map<std::pair<int, int>, double> pairs;
      double bytes = 0;
      std::uint64_t count = 0;
      for (const Message& m : messages) {
        if (m.bin < from || m.bin > to) continue;
        pairs[{static_cast<int>(m.src), static_cast<int>(m.dst)}] += static_cast<double>(m.bytes);
        bytes += static_cast<double>(m.bytes);
        ++count;
      }
      const Cluster& cluster = found.clusters[c];
      CHECK(cluster.messages == count);
      CHECK(cluster.bytes == bytes);
      CHECK(cluster.matrix.entries.size() == pairs.size());
      for (const MatrixEntry& e : cluster.matrix.entries) CHECK(pairs[{e.src, e.dst}] == e.bytes);
    }
  }
}

namespace {

// `count` bursts of 4 ms, 0.3 s apart, of `messages` each among 16 ranks.
std::vector<ProfileEvent> bursts(std::size_t count, std::size_t messages) {
  std::mt19937_64 random(5);
  std::vector<ProfileEvent> events;
  for (std::size_t b = 0; b < count; ++b)
    for (std::size_t m = 0; m < messages; ++m) {
      const auto rank = static_cast<std::uint32_t>(random() % 16);
      events.push_back({b * 300'000'000 + random() % 4'000'000, rank, (rank + 1) % 16, 1000});
    }
  std::sort(events.begin(), events.end(),
            [](const ProfileEvent& a, const ProfileEvent& b) { return a.time_ns < b.time_ns; });
  return events;
}

Clusters clusters_of(const std::vector<ProfileEvent>& events, const ClusterOptions& options = {}) {
  const TempDir dir;
  auto reader = ProfileReader::open(write_profile(dir, 16, events, 10'000));
  REQUIRE(reader.ok());
  return *find_clusters(*reader, options);
}

}  // namespace

TEST_CASE("each burst of an iterative run is a cluster, with more bins if 100 are too few") {
  for (const std::size_t count : {2U, 20U, 40U, 60U, 100U, 200U}) {
    const Clusters found = clusters_of(bursts(count, 200));
    CAPTURE(count, found.bins.count());
    CHECK(found.clusters.size() == count);
    CHECK(std::all_of(found.clusters.begin(), found.clusters.end(),
                      [](const Cluster& c) { return c.messages == 200; }));
    CHECK((found.bins.count() == 100) == (count <= 20));
  }
}

TEST_CASE(
    "what sends all the time is one cluster, in 100 bins: a burst of its own, and few messages") {
  std::vector<ProfileEvent> steady;
  for (std::uint64_t t = 0; t < 20'000; ++t)
    steady.push_back({t * 1'000'000, static_cast<std::uint32_t>(t % 16),
                      static_cast<std::uint32_t>((t + 1) % 16), 1000});
  std::vector<ProfileEvent> sparse;
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < 300; ++i) sparse.push_back({random() % 30'000'000'000, 0, 1, 8});
  std::sort(sparse.begin(), sparse.end(),
            [](const ProfileEvent& a, const ProfileEvent& b) { return a.time_ns < b.time_ns; });
  for (const auto& events : {steady, bursts(1, 200), bursts(1, 20), sparse}) {
    const Clusters found = clusters_of(events);
    CHECK(found.clusters.size() == 1);
    CHECK(found.bins.count() == 100);
    CHECK(found.finest == 1600);
  }
}

TEST_CASE("bins and clusters that are asked for are taken") {
  const std::vector<ProfileEvent> events = bursts(60, 200);
  ClusterOptions options;
  options.bins = 100;
  CHECK(clusters_of(events, options).clusters.size() == 1);
  CHECK(clusters_of(events, options).finest == 100);
  options.bins = 1000;
  CHECK(clusters_of(events, options).clusters.size() <= 50);
  options.max_clusters = 100;
  CHECK(clusters_of(events, options).clusters.size() == 60);
  options = {};
  options.max_clusters = 50;
  CHECK(clusters_of(events, options).clusters.size() <= 50);
  options = {};
  options.clusters = 7;
  CHECK(clusters_of(events, options).clusters.size() == 7);
  CHECK(clusters_of(events, options).bins.count() == 100);
}

TEST_CASE("bins that are merged are those of as many from the start") {
  const std::vector<ProfileEvent> events = bursts(7, 300);
  const TimeWindow span{events.front().time_ns, events.back().time_ns + 1};
  TimeBins fine(span, 1600), coarse(span, 100);
  for (const ProfileEvent& event : events) {
    fine.add(event);
    coarse.add(event);
  }
  const TimeBins merged = fine.merged(16);
  CHECK(merged.messages() == coarse.messages());
  CHECK(merged.bytes() == coarse.bytes());
  CHECK(merged.silent() == coarse.silent());
  std::vector<std::size_t> at, there;
  const auto points = merged.points(at), wanted = coarse.points(there);
  CHECK(at == there);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].sum == Approx(wanted[i].sum));
    CHECK(points[i].square == Approx(wanted[i].square));
  }
}
