// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/quantity.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("bytes have decimal units and never four digits before the point") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1000) == "1 kB");
  CHECK(bytes_text(11'520'000) == "11.52 MB");
  CHECK(bytes_text(999'999) == "1 MB");
  CHECK(bytes_text(2.5e18) == "2.5 EB");
  CHECK(bytes_text(5e21) == "5000 EB");
}

TEST_CASE("seconds have the unit that leaves a digit before the point") {
  CHECK(seconds_text(0) == "0 s");
  CHECK(seconds_text(5e-9) == "5 ns");
  CHECK(seconds_text(1.5e-5) == "15 us");
  CHECK(seconds_text(0.0125) == "12.5 ms");
  CHECK(seconds_text(90) == "90 s");
}
