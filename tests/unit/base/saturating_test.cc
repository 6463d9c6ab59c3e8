// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/saturating.h"

#include "tests/unit/catch.h"

using ondeloc::saturating_sum;

TEST_CASE("a sum stops at the largest value") {
  CHECK(saturating_sum(0, 0) == 0);
  CHECK(saturating_sum(2, 3) == 5);
  CHECK(saturating_sum(UINT64_MAX, 0) == UINT64_MAX);
  CHECK(saturating_sum(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK(saturating_sum(UINT64_MAX, 1) == UINT64_MAX);
  CHECK(saturating_sum(UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 1) == UINT64_MAX);
}
