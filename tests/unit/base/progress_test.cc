// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/progress.h"

#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("progress appears for work longer than the delay, and only then") {
  for (const bool longer : {true, false}) {
    std::vector<std::string> said;
    ProgressMeter meter(longer ? std::chrono::hours(0) : std::chrono::hours(9), false,
                        [&](std::string_view text) { said.emplace_back(text); });
    meter.phase("reading")(0.25);
    CHECK(said == (longer ? std::vector<std::string>{"ondeloc: reading 25 %\n"}
                          : std::vector<std::string>{}));
  }
}

TEST_CASE("phases share one clock, and a terminal's line is wiped after each") {
  std::vector<std::string> said;
  ProgressMeter meter(std::chrono::milliseconds(5), true,
                      [&](std::string_view text) { said.emplace_back(text); });
  meter.phase("one");
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  meter.phase("two")(0.5);  // itself just begun
  CHECK(said == std::vector<std::string>{"\rondeloc: two 50 %", "\r\033[K"});
}
