// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

struct Sample {
  double time, weight;
};

std::vector<Sample> random_samples(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Sample> samples;
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    now += static_cast<double>(random() % 100) * (random() % 7 == 0 ? 20 : 1) + 1;
    samples.push_back({now, static_cast<double>(random() % 50 + 1)});
  }
  return samples;
}

std::vector<WeightedPoint> points_of(const std::vector<Sample>& samples) {
  std::vector<WeightedPoint> points;
  for (const Sample& s : samples)
    points.push_back({s.weight, s.weight * s.time, s.weight * s.time * s.time});
  return points;
}

// Equation 2.1 as it stands.
double objective(const std::vector<Sample>& samples, const std::vector<int>& cluster, int k) {
  double j = 0;
  for (int c = 0; c < k; ++c) {
    double weight = 0, sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (cluster[i] != c) continue;
      weight += samples[i].weight;
      sum += samples[i].weight * samples[i].time;
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (cluster[i] == c) j += samples[i].weight * std::pow(samples[i].time - sum / weight, 2);
    }
  }
  return j;
}

std::vector<int> labels(const KMeans& found, std::size_t n) {
  std::vector<int> label(n);
  for (std::size_t c = 0; c < found.k(); ++c)
    for (std::size_t i = found.begin[c]; i < found.begin[c + 1]; ++i)
      label[i] = static_cast<int>(c);
  return label;
}

// Lloyd's iterations from random centres until nothing changes.
double lloyd(const std::vector<Sample>& samples, int k, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> centre;
  for (int c = 0; c < k; ++c) centre.push_back(samples[random() % samples.size()].time);
  std::vector<int> label(samples.size(), -1);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<double> weight(centre.size()), sum(centre.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      int best = 0;
      for (int c = 1; c < k; ++c) {
        if (std::abs(samples[i].time - centre[static_cast<std::size_t>(c)]) <
            std::abs(samples[i].time - centre[static_cast<std::size_t>(best)]))
          best = c;
      }
      changed |= best != label[i];
      label[i] = best;
      weight[static_cast<std::size_t>(best)] += samples[i].weight;
      sum[static_cast<std::size_t>(best)] += samples[i].weight * samples[i].time;
    }
    for (std::size_t c = 0; c < centre.size(); ++c)
      if (weight[c] > 0) centre[c] = sum[c] / weight[c];
  }
  return objective(samples, label, k);
}

// Every cut of n points into k intervals.
double brute_force(const std::vector<Sample>& samples, std::size_t from, int k) {
  if (k == 1) {
    const std::vector<Sample> rest(samples.begin() + static_cast<long>(from), samples.end());
    return objective(rest, std::vector<int>(rest.size(), 0), 1);
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t to = from + 1; to + static_cast<std::size_t>(k) - 1 <= samples.size(); ++to) {
    const std::vector<Sample> head(samples.begin() + static_cast<long>(from),
                                   samples.begin() + static_cast<long>(to));
    best = std::min(best, objective(head, std::vector<int>(head.size(), 0), 1) +
                              brute_force(samples, to, k - 1));
  }
  return best;
}

}  // namespace

TEST_CASE("the dynamic program finds the optimum of every cut") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto samples = random_samples(11, seed);
    const auto all = kmeans_all(points_of(samples), 20);
    REQUIRE(all.size() == 11);
    for (int k = 1; k <= 5; ++k) {
      const KMeans& found = all[static_cast<std::size_t>(k - 1)];
      CHECK(found.k() == static_cast<std::size_t>(k));
      CHECK(found.objective == Approx(brute_force(samples, 0, k)));
      CHECK(found.objective == Approx(objective(samples, labels(found, 11), k)));
    }
    CHECK(all.back().objective == Approx(0).margin(1e-6));
  }
}

TEST_CASE("never a worse objective than Lloyd's iterations") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto samples = random_samples(200, seed);
    const auto all = kmeans_all(points_of(samples), 12);
    for (int k = 2; k <= 12; k += 5) {
      const double ours = all[static_cast<std::size_t>(k - 1)].objective;
      for (std::uint64_t start = 0; start < 5; ++start)
        CHECK(ours <= lloyd(samples, k, start) * (1 + 1e-9));
    }
  }
}

TEST_CASE("more clusters never have a worse objective; spread inside a point counts") {
  const auto all = kmeans_all(points_of(random_samples(300, 3)), 40);
  for (std::size_t k = 1; k < all.size(); ++k)
    CHECK(all[k].objective <= all[k - 1].objective * (1 + 1e-9));
  // Two messages at 1 and 3 in one point: mean 2, spread 2.
  const std::vector<WeightedPoint> one{{2, 4, 10}};
  CHECK(kmeans_all(one, 5)[0].objective == Approx(2));
}

TEST_CASE("BIC finds well separated bursts, and one cluster if there is no structure") {
  for (int bursts = 1; bursts <= 6; ++bursts) {
    std::vector<Sample> samples;
    for (int b = 0; b < bursts; ++b)
      for (int i = 0; i < 5; ++i) samples.push_back({b * 20.0 + i + 0.5, 10});
    const KMeans found = choose_clusters(points_of(samples), 50, 1, 0);
    CHECK(found.k() == static_cast<std::size_t>(bursts));
  }
}

TEST_CASE("bursts of hardly more than a bin each are separate clusters, a steady stream is one") {
  for (const std::size_t bursts : {3U, 10U, 20U, 30U}) {
    std::vector<WeightedPoint> points;
    for (std::size_t b = 0; b < bursts; ++b) {
      const std::size_t bin = b * 100 / bursts;
      const auto at = static_cast<double>(bin);
      points.push_back({100, 100 * (at + 0.5), 100 * (at + 0.5) * (at + 0.5) + 0.1});
    }
    CAPTURE(bursts);
    CHECK(choose_clusters(points, 50, 1, 100).k() == bursts);
  }
  std::vector<WeightedPoint> few;  // a message each
  for (std::size_t i = 0; i < 60; ++i) {
    const double at = static_cast<double>(i * i * 7 % 1597) + 0.5;
    few.push_back({1, at, at * at});
  }
  std::sort(few.begin(), few.end(),
            [](const WeightedPoint& a, const WeightedPoint& b) { return a.sum < b.sum; });
  CHECK(choose_clusters(few, 50, 1, 1600).k() == 1);
  std::vector<WeightedPoint> steady;
  for (int bin = 0; bin < 100; ++bin) {
    const double at = bin + 0.5;
    steady.push_back({100, 100 * at, 100 * at * at + 8});
  }
  CHECK(choose_clusters(steady, 50, 1, 100).k() == 1);
}
