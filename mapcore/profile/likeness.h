// SPDX-License-Identifier: Apache-2.0
// Measures how far the intervals of a run resemble the whole run: the pairs that communicate and
// their shares of the bytes. One mapping fits a run as far as they do, even if the order of its
// ranks changes from interval to interval (equation 2.8 of metrics.h looks only at that order, and
// ranks that send about the same swap places all the time). Also measures how long other patterns
// last: a pattern unlike the one before it may be over before an online mapping can serve it
// (mapcore/decide/decider.h waits for the second look too). Neither measure is published.
//
// The matrix of each interval is kept as a count sketch (M. Charikar, K. Chen, M. Farach-Colton,
// "Finding frequent items in data streams", ICALP 2002): every pair adds its bytes, with a sign of
// its own, to one of at most 1024 sums. The cosine of two sketches is that of the matrices within
// some three percent, and exact if no pairs collide. Memory: at most 64 MiB. With more intervals
// each has fewer sums, at least 64; if that is not enough, neighbouring intervals share one sketch.
// Thread safety: none. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ondeloc {

// Shares of all bytes, by the intervals that they were sent in.
struct Likeness {
  double alike = 1;    // has the pattern of the whole run
  double lasting = 0;  // has not, but that of the last interval with traffic before it
};

class PatternSketches {
 public:
  PatternSketches() = default;
  explicit PatternSketches(std::size_t intervals);
  // A message; both directions of a pair are one. REQUIRES: interval below their number.
  void add(std::size_t interval, std::uint32_t src, std::uint32_t dst, std::uint64_t bytes);
  // Two patterns count as alike if their cosine is at least `least`. Without traffic all are alike.
  Likeness likeness(double least) const;

 private:
  std::span<const double> row(std::size_t at) const;
  std::vector<double> whole() const;

  std::size_t intervals_ = 0, rows_ = 0, width_ = 0;
  std::vector<double> sums_;   // row-major, rows x width
  std::vector<double> bytes_;  // of each row
};

}  // namespace ondeloc
