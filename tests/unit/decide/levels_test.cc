// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/levels.h"

#include "mapcore/base/text.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("the table of levels fits 80 columns, whatever was sent") {
  TrafficChange change;
  for (DomainTraffic* traffic : {&change.before, &change.after}) {
    traffic->bytes.back() = 999.9e15;
    traffic->messages.back() = 1.234e15;
  }
  change.after.messages.front() = 1;
  const std::string table = level_table(change);
  const auto lines = split(table, '\n');
  REQUIRE(lines.size() == 4);
  for (const auto line : lines) CHECK(line.size() <= 79);
  CHECK(lines[2] ==
        "across packages  999.9 PB 100 % 1.234e+15 100 %  999.9 PB 100 % 1.234e+15 100 %");
}
