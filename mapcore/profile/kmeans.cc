// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ondeloc {
namespace {

// Cost of one cluster from prefix sums. Times are shifted to their mean first, which keeps the
// difference of squares accurate.
class IntervalCost {
 public:
  explicit IntervalCost(std::span<const WeightedPoint> points)
      : weight_(points.size() + 1), sum_(points.size() + 1), square_(points.size() + 1) {
    double weight = 0, sum = 0;
    for (const WeightedPoint& p : points) {
      weight += p.weight;
      sum += p.sum;
    }
    const double mean = weight > 0 ? sum / weight : 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const WeightedPoint& p = points[i];
      weight_[i + 1] = weight_[i] + p.weight;
      sum_[i + 1] = sum_[i] + p.sum - p.weight * mean;
      square_[i + 1] = square_[i] + p.square - 2 * mean * p.sum + p.weight * mean * mean;
    }
  }
  // Points from .. to - 1, not empty.
  double operator()(std::size_t from, std::size_t to) const {
    const double w = weight_[to] - weight_[from], s = sum_[to] - sum_[from];
    return std::max(0.0, square_[to] - square_[from] - s * s / w);
  }

 private:
  std::vector<double> weight_, sum_, square_;
};

struct Layer {
  std::vector<double> best;         // best[j]: optimum for the first j points
  std::vector<std::size_t> choice;  // where the last cluster starts
};

struct Range {
  std::size_t lo, hi;    // columns j to solve, both included
  std::size_t from, to;  // candidates for the start of the last cluster, both included
};

// Fills next.best[lo..hi] by divide and conquer: the best start is monotone in j.
void solve(const IntervalCost& cost, const Layer& before, Layer& next, Range whole) {
  std::vector<Range> todo{whole};
  while (!todo.empty()) {
    const Range r = todo.back();
    todo.pop_back();
    if (r.lo > r.hi) continue;
    const std::size_t j = r.lo + (r.hi - r.lo) / 2;
    double best = std::numeric_limits<double>::infinity();
    std::size_t choice = r.from;
    for (std::size_t i = r.from; i <= std::min(r.to, j - 1); ++i) {
      const double value = before.best[i] + cost(i, j);
      if (value < best) {
        best = value;
        choice = i;
      }
    }
    next.best[j] = best;
    next.choice[j] = choice;
    if (j > r.lo) todo.push_back({r.lo, j - 1, r.from, choice});
    todo.push_back({j + 1, r.hi, choice, r.to});
  }
}

std::vector<std::size_t> walk_back(const std::vector<Layer>& layers, std::size_t k,
                                   std::size_t points) {
  std::vector<std::size_t> begin(k + 1);
  begin[k] = points;
  for (std::size_t layer = k; layer > 0; --layer)
    begin[layer - 1] = layers[layer - 1].choice[begin[layer]];
  return begin;
}

}  // namespace

std::vector<KMeans> kmeans_all(std::span<const WeightedPoint> points, std::size_t max_k) {
  const std::size_t n = points.size();
  const IntervalCost cost(points);
  std::vector<Layer> layers;
  std::vector<KMeans> all;
  for (std::size_t k = 1; k <= std::min(max_k, n); ++k) {
    Layer layer{std::vector<double>(n + 1, std::numeric_limits<double>::infinity()),
                std::vector<std::size_t>(n + 1)};
    if (k == 1) {
      for (std::size_t j = 1; j <= n; ++j) layer.best[j] = cost(0, j);
    } else {
      solve(cost, layers.back(), layer, {k, n, k - 1, n - 1});
    }
    layers.push_back(std::move(layer));
    all.push_back({walk_back(layers, k, n), layers.back().best[n]});
  }
  return all;
}

double bic(std::span<const WeightedPoint> points, const KMeans& clusters, double resolution,
           std::size_t samples) {
  const auto n = static_cast<double>(samples);
  const auto k = static_cast<double>(clusters.k());
  double total = 0;
  for (const WeightedPoint& p : points) total += p.weight;
  const double floor = resolution * resolution / 12;  // variance of a uniform bin
  const double spread = clusters.objective / total * n / std::max(n - k, 1.0);
  const double variance = std::max({spread, floor, std::numeric_limits<double>::min()});
  double likelihood = -n / 2 * std::log(2 * std::numbers::pi * variance) - (n - k) / 2;
  for (std::size_t c = 0; c < clusters.k(); ++c) {
    double share = 0;
    for (std::size_t i = clusters.begin[c]; i < clusters.begin[c + 1]; ++i)
      share += points[i].weight / total;
    likelihood += share * n * std::log(share);
  }
  return likelihood - k * std::log(n);  // 2k parameters: k - 1 shares, k means, one variance
}

namespace {

std::size_t best_of(std::span<const KMeans> all, std::span<const WeightedPoint> points,
                    double resolution, std::size_t samples) {
  std::size_t best = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double value = bic(points, all[k], resolution, samples);
    if (value > most) {
      most = value;
      best = k;
    }
  }
  return best;
}

// The sample size: all bins, but never more than there are messages.
std::size_t samples_of(std::span<const WeightedPoint> points, std::size_t bins) {
  double messages = 0;
  for (const WeightedPoint& p : points) messages += p.weight;
  const double most = std::min(messages, static_cast<double>(bins));
  return std::max(points.size(), static_cast<std::size_t>(most));
}

}  // namespace

KMeans choose_clusters(std::span<const WeightedPoint> points, std::size_t max_k, double resolution,
                       std::size_t bins) {
  std::vector<KMeans> all = kmeans_all(points, max_k);
  std::size_t best = best_of(all, points, resolution, points.size());
  if (best == 0) best = best_of(all, points, resolution, samples_of(points, bins));
  return std::move(all[best]);
}

}  // namespace ondeloc
