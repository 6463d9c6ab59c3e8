// SPDX-License-Identifier: Apache-2.0
// Weighted k-means in one dimension, solved exactly, and the choice of k by BIC.
//
// Source: equation 2.1 of the DeLoc thesis (M. Agung, Tohoku University, section 2.3.3): minimise
//   j = sum_i sum_{t in C_i} Ncomm_t ||t - mu_i||^2.
// In one dimension optimal clusters are intervals, so dynamic programming over the sorted points
// finds the optimum (H. Wang, M. Song, "Ckmeans.1d.dp", The R Journal 3/2, 2011); the split points
// are monotone (the interval cost is a Monge array: A. Groenlund et al., arXiv:1701.07204), so
// divide and conquer takes O(k n log n). Never a worse objective than Lloyd's iterations.
//
// k is chosen by the Bayesian information criterion of X-means (D. Pelleg, A. Moore, ICML 2000),
// the method the thesis cites, with one variance for all clusters. The sample size is the number of
// points (time bins that saw a message), not of messages: messages of one burst are not independent
// observations, and counting them as such splits every burst without end. The variance is never
// taken below that of the resolution of the points.
//
// Not published: if the criterion finds one cluster, we apply it once more with all bins as the
// sample, because empty bins also show where nothing was sent. Bursts that hardly fill one bin each
// give about as many points as clusters, and the criterion then prefers one cluster whatever lies
// between them (twenty bursts of 4 ms in 6 s). But the sample is never larger than the number of
// messages: a few messages in many bins are not one burst each.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ondeloc {

// Messages that share one time bin: weight > 0, sum of their times, sum of squared times. Points
// are in ascending order of sum / weight, and their ranges do not overlap.
struct WeightedPoint {
  double weight = 0;
  double sum = 0;
  double square = 0;
};

struct KMeans {
  // Cluster i holds the points begin[i] .. begin[i + 1] - 1; begin.size() = k + 1.
  std::vector<std::size_t> begin;
  double objective = 0;  // j, the spread inside the points included
  std::size_t k() const { return begin.size() - 1; }
};

// Optimal clusterings for k = 1 .. min(max_k, points.size()); result[k - 1] has k clusters.
std::vector<KMeans> kmeans_all(std::span<const WeightedPoint> points, std::size_t max_k);

// X-means' BIC (larger is better) of so many samples; `resolution` is the width of a point in the
// unit of its times.
double bic(std::span<const WeightedPoint> points, const KMeans& clusters, double resolution,
           std::size_t samples);

// Returns the clustering with the largest BIC, the smaller k on a tie. `bins` is the number of all
// bins; the points are the bins with messages. REQUIRES: points not empty.
KMeans choose_clusters(std::span<const WeightedPoint> points, std::size_t max_k, double resolution,
                       std::size_t bins);

}  // namespace ondeloc
