// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/likeness.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ondeloc {
namespace {

constexpr std::size_t kMostSums = 1024, kFewestSums = 64, kMostCells = 1 << 23;

// splitmix64: S. Vigna, public domain; all bits depend on all of the pair.
std::uint64_t mixed(std::uint32_t a, std::uint32_t b) {
  std::uint64_t z = (std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double cosine(std::span<const double> part, std::span<const double> whole) {
  double both = 0, of_part = 0, of_whole = 0;
  for (std::size_t k = 0; k < part.size(); ++k) {
    both += part[k] * whole[k];
    of_part += part[k] * part[k];
    of_whole += whole[k] * whole[k];
  }
  return of_part > 0 && of_whole > 0 ? both / std::sqrt(of_part * of_whole) : 0;
}

}  // namespace

PatternSketches::PatternSketches(std::size_t intervals)
    : intervals_(intervals),
      rows_(std::clamp<std::size_t>(intervals, 1, kMostCells / kFewestSums)),
      width_(std::min(kMostCells / rows_, kMostSums)),
      sums_(rows_ * width_),
      bytes_(rows_) {}

void PatternSketches::add(std::size_t interval, std::uint32_t src, std::uint32_t dst,
                          std::uint64_t bytes) {
  const std::size_t at = rows_ < intervals_ ? interval * rows_ / intervals_ : interval;
  const std::uint64_t hash = mixed(src, dst);
  const auto amount = static_cast<double>(bytes);
  sums_[at * width_ + (hash >> 1) % width_] += (hash & 1) != 0 ? amount : -amount;
  bytes_[at] += amount;
}

std::span<const double> PatternSketches::row(std::size_t at) const {
  return std::span(sums_).subspan(at * width_, width_);
}

std::vector<double> PatternSketches::whole() const {
  std::vector<double> sum(width_);
  for (std::size_t i = 0; i < sums_.size(); ++i) sum[i % width_] += sums_[i];
  return sum;
}

Likeness PatternSketches::likeness(double least) const {
  const double all = std::accumulate(bytes_.begin(), bytes_.end(), 0.0);
  if (all <= 0) return {};
  const std::vector<double> run = whole();
  double alike = 0, lasting = 0;
  std::span<const double> before;  // the last one with traffic
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i] <= 0) continue;
    const std::span<const double> now = row(i);
    if (cosine(now, run) >= least)
      alike += bytes_[i];
    else if (!before.empty() && cosine(now, before) >= least)
      lasting += bytes_[i];
    before = now;
  }
  return {alike / all, lasting / all};
}

}  // namespace ondeloc
