// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/live_report.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tests/unit/catch.h"

namespace live_report_test {
using namespace ondeloc;

namespace {

// Finds the report in the way of `ondeloc top`.
std::string text_of_live_report() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || name.find(kLiveReportName) == std::string::npos) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    return text.str();
  }
  return "";
}

constexpr LiveReport::Seconds operator""_s(long double value) {
  return LiveReport::Seconds(static_cast<double>(value));
}

}  // namespace

TEST_CASE("a live report that nobody reads is written every five seconds, else every second") {
  LiveReport live;
  CHECK(live.is_due(0.0_s));
  live.publish("first");
  live.published(10.0_s, 0.0001_s);
  CHECK_FALSE(live.is_due(11.5_s));
  CHECK(live.is_due(15.0_s));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // more than a tick of the file's time
  REQUIRE(text_of_live_report() == "first");
  CHECK_FALSE(live.is_due(10.5_s));
  CHECK(live.is_due(11.0_s));
  live.publish("second");
  live.published(11.0_s, 0.0001_s);
  CHECK_FALSE(live.is_due(12.5_s));
}

TEST_CASE("a live report takes at most a thousandth of the time") {
  LiveReport live;
  live.publish("slow");
  live.published(0.0_s, 0.02_s);
  CHECK_FALSE(live.is_due(19.0_s));
  CHECK(live.is_due(20.0_s));
}

}  // namespace live_report_test
