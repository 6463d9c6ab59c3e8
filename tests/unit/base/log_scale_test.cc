// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/log_scale.h"

#include <cmath>

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("a scale of bytes has powers of ten as its marks") {
  const std::vector<double> values = {0, 4096, 3e9, 5e6};
  const LogScale scale = log_scale(values);
  CHECK(scale.low == 4096);
  CHECK(scale.high == 3e9);
  CHECK(scale.ticks() == std::vector<double>{1e4, 1e5, 1e6, 1e7, 1e8, 1e9});
  CHECK(scale.share(3e9) == 1);
  CHECK(scale.share(4096) == 0);
}

TEST_CASE("a few small values do not stretch the scale") {
  const std::vector<double> values = {1, 1e12};
  const LogScale scale = log_scale(values);
  CHECK(scale.low == Approx(1e6));
  CHECK(scale.share(1) == 0);
  CHECK(scale.ticks().size() <= 7);
}

TEST_CASE("alike values are alike dark, and nothing has no scale") {
  const std::vector<double> alike = {100, 101}, none = {0, 0};
  CHECK(log_scale(alike).share(100) > 0.99);
  CHECK(log_scale(alike).ticks().size() == 2);
  CHECK(log_scale(none).high == 0);
  CHECK(log_scale(none).ticks().empty());
}
