// SPDX-License-Identifier: Apache-2.0
// How far a run's intervals have the pattern of the whole run: who talks to whom, and how much of
// the bytes. One mapping fits a run as far as they do, whatever the order of its ranks does from
// interval to interval (equation 2.8 of metrics.h sees nothing else, and ranks that send about the
// same change places all the time). And how far the others last: what has no like before it is over
// when an online mapping has seen it, and follows nobody (mapcore/map/decide.h waits for the second
// look too). Neither is published.
//
// The matrix of each interval is kept as a count sketch (M. Charikar, K. Chen, M. Farach-Colton,
// "Finding frequent items in data streams", ICALP 2002): every pair adds its bytes, with a sign of
// its own, to one of at most 1024 sums. The cosine of two sketches is that of the matrices within
// some three percent, and exact where nothing collides. Memory: at most 64 MiB: with fewer sums, at
// least 64, the more intervals there are, and where that does not do, neighbours together. Thread
// safety: none. Errors: none.
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
  // Two patterns are one where their cosine is at least `least`. Without traffic all is alike.
  Likeness likeness(double least) const;

 private:
  std::span<const double> row(std::size_t at) const;
  std::vector<double> whole() const;

  std::size_t intervals_ = 0, rows_ = 0, width_ = 0;
  std::vector<double> sums_;   // row-major, rows x width
  std::vector<double> bytes_;  // of each row
};

}  // namespace ondeloc
