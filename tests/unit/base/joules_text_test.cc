// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/joules_text.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("energy has four digits and a unit that fits") {
  CHECK(joules_text(0) == "0 J");
  CHECK(joules_text(0.25) == "0.25 J");
  CHECK(joules_text(999.96) == "1 kJ");
  CHECK(joules_text(12345) == "12.35 kJ");
  CHECK(joules_text(2e6) == "2 MJ");
}
