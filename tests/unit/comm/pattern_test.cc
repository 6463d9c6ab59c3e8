// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/pattern.h"

#include <cmath>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

Traffic traffic_of(std::vector<MatrixEntry> entries) {
  return Traffic(CommMatrix::from_entries(4, std::move(entries)));
}

}  // namespace

TEST_CASE("the cosine of a pattern and a traffic") {
  const Traffic both = traffic_of({{0, 1, 3, 1}, {2, 3, 4, 1}}), first = traffic_of({{1, 0, 5, 1}}),
                other = traffic_of({{0, 2, 5, 1}}), nothing = traffic_of({});
  CHECK(Pattern(both).cosine(both) == Approx(1));
  CHECK(Pattern(both).cosine(first) == Approx(0.6));
  CHECK(Pattern(first).cosine(both) == Approx(0.6));
  CHECK(Pattern(first).cosine(other) == 0);
  CHECK(Pattern(first).cosine(nothing) == 0);
  CHECK(Pattern(nothing).cosine(first) == 0);
  CHECK(Pattern().cosine(nothing) == 1);
}

TEST_CASE("a pattern that keeps another traffic forgets the former one") {
  const Traffic first = traffic_of({{1, 0, 5, 1}, {2, 3, 7, 2}}),
                other = traffic_of({{0, 2, 5, 1}});
  Pattern pattern(first);
  pattern.keep(other);
  CHECK(pattern.total() == 5);
  CHECK(pattern.difference(other) == 0);
  CHECK(pattern.difference(first) == 1);
}

TEST_CASE("bytes beyond single precision compare as the largest number of it") {
  const Traffic huge = traffic_of({{0, 1, 1e100, 1}, {2, 3, 1e100, 1}});
  CHECK(Pattern(huge).difference(huge) == 0);
  CHECK(std::isfinite(Pattern(huge).cosine(huge)));
}
