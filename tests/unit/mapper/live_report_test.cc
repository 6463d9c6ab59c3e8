// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/live_report.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"

namespace live_report_test {
using namespace ondeloc;
using namespace std::chrono_literals;

namespace {

// Finds the report in the way of `ondeloc top`.
std::string text_of_live_report() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || name.find(kLiveReportName) == std::string::npos) continue;
    return read_small_file(entry.path().string()).value_or("");
  }
  return "";
}

}  // namespace

TEST_CASE("a live report that nobody reads is written every ten seconds, else every second") {
  LiveReport live;
  CHECK(live.is_due(0.0s));
  live.publish("first");
  live.published(10.0s, 0.0001s);
  CHECK_FALSE(live.is_due(19.5s));
  CHECK(live.is_due(20.0s));
  std::this_thread::sleep_for(50ms);  // more than a tick of the file's time
  REQUIRE(text_of_live_report() == "first");
  CHECK_FALSE(live.is_due(10.5s));
  CHECK(live.is_due(11.0s));
  live.publish("second");
  live.published(11.0s, 0.0001s);
  CHECK_FALSE(live.is_due(12.5s));
}

TEST_CASE("a live report takes a small share of the time, a larger one if somebody reads it") {
  LiveReport live;
  live.publish("slow");
  live.published(0.0s, 0.02s);
  CHECK_FALSE(live.is_due(79.0s));
  CHECK(live.is_due(80.0s));
  std::this_thread::sleep_for(50ms);  // more than a tick of the file's time
  REQUIRE(text_of_live_report() == "slow");
  CHECK_FALSE(live.is_due(19.0s));
  CHECK(live.is_due(20.0s));
}

}  // namespace live_report_test
