// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/likeness.h"

#include "tests/unit/catch.h"

using ondeloc::PatternSketches;

TEST_CASE("an interval is alike where the same pairs talk in the same proportions") {
  PatternSketches same(3), other(2);
  for (std::uint32_t i = 0; i < 100; ++i) {
    same.add(0, i, i + 1, 1000);
    same.add(2, i + 1, i, 5000);  // the other direction, more of it, after a pause
    other.add(0, i, i + 1, 1000);
    other.add(1, i, i + 7, 1000);
  }
  CHECK(same.share_alike(0.999) == 1);
  CHECK(other.share_alike(0.9) == 0);  // each is half of the run
  CHECK(PatternSketches(5).share_alike(0.9) == 1);
}

TEST_CASE("what is sent once at the start counts by its bytes") {
  PatternSketches run(10);
  for (std::uint32_t rank = 1; rank < 64; ++rank) run.add(0, 0, rank, 100);
  for (std::size_t interval = 1; interval < 10; ++interval)
    for (std::uint32_t rank = 0; rank < 64; ++rank)
      run.add(interval, rank, (rank + 1) % 64, 10'000);
  CHECK(run.share_alike(0.9) > 0.99);
  CHECK(run.share_alike(0.9) < 1);
}

TEST_CASE("more pairs than sums, and more intervals than rows") {
  PatternSketches pairs(2), intervals(1'000'000);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    pairs.add(0, i, i + 1, 1000);
    pairs.add(1, i, i + 9, 1000);
    intervals.add(i * 50, i % 8, 8 + i % 8, 1'000'000'000'000);
  }
  CHECK(pairs.share_alike(0.85) == 0);
  CHECK(pairs.share_alike(0.5) == 1);
  CHECK(intervals.share_alike(0.3) >= 0);
}
