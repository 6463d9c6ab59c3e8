// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/likeness.h"

#include "tests/unit/catch.h"

using ondeloc::PatternSketches;

TEST_CASE("an interval is alike if the same pairs communicate in the same proportions") {
  PatternSketches same(3), other(2);
  for (std::uint32_t i = 0; i < 100; ++i) {
    same.add(0, i, i + 1, 1000);
    same.add(2, i + 1, i, 5000);  // the other direction, more of it, after a pause
    other.add(0, i, i + 1, 1000);
    other.add(1, i, i + 7, 1000);
  }
  CHECK(same.likeness(0.999).alike == 1);
  CHECK(same.likeness(0.999).lasting == 0);
  CHECK(other.likeness(0.9).alike == 0);  // each is half of the run
  CHECK(other.likeness(0.9).lasting == 0);
  CHECK(PatternSketches(5).likeness(0.9).alike == 1);
}

TEST_CASE("a single transfer at the start counts by its bytes") {
  PatternSketches run(10);
  for (std::uint32_t rank = 1; rank < 64; ++rank) run.add(0, 0, rank, 100);
  for (std::size_t interval = 1; interval < 10; ++interval)
    for (std::uint32_t rank = 0; rank < 64; ++rank)
      run.add(interval, rank, (rank + 1) % 64, 10'000);
  CHECK(run.likeness(0.9).alike > 0.99);
  CHECK(run.likeness(0.9).alike < 1);
}

TEST_CASE("more pairs than sums, and more intervals than rows") {
  PatternSketches pairs(2), intervals(1'000'000);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    pairs.add(0, i, i + 1, 1000);
    pairs.add(1, i, i + 9, 1000);
    intervals.add(i * 50, i % 8, 8 + i % 8, 1'000'000'000'000);
  }
  CHECK(pairs.likeness(0.85).alike == 0);
  CHECK(pairs.likeness(0.5).alike == 1);
  CHECK(intervals.likeness(0.3).alike >= 0);
}

TEST_CASE("a phase lasts from its second interval on, over pauses too") {
  // Two phases in turn, each of so many intervals with traffic, with a pause after each interval.
  for (const std::size_t length : {1U, 2U, 10U}) {
    PatternSketches run(40 * length);
    for (std::size_t at = 0; at < 20 * length; ++at) {
      const std::uint32_t step = at / length % 2 == 0 ? 1 : 5;
      for (std::uint32_t i = 0; i < 16; ++i) run.add(2 * at, i, (i + step) % 16, 1000);
    }
    CAPTURE(length);
    CHECK(run.likeness(0.9).alike == 0);
    CHECK(run.likeness(0.9).lasting == Approx(1 - 1.0 / static_cast<double>(length)));
  }
}
