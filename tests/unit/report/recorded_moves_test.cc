// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/recorded_moves.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("a report's moves are read in the order of their times") {
  const auto turns = parse_recorded_moves(R"({"intervals": [
      {"t": 0.5, "moved": [], "moved_to": []},
      {"t": 1.5, "moved": [3, 0], "moved_to": ["4-5", "0,8"]},
      {"t": 2.5, "moved": [1], "moved_to": ["7"]}]})");
  REQUIRE(turns);
  REQUIRE(turns->size() == 2);
  CHECK((*turns)[0].seconds == 1.5);
  CHECK((*turns)[0].moves[0].world_rank == 3);
  CHECK((*turns)[0].moves[1].cpus.to_list() == "0,8");
  CHECK((*turns)[1].moves.size() == 1);
}

TEST_CASE("a text that is not the report of moves is refused with a sentence") {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "this is not JSON"},
      {"[1]", "has no \"intervals\""},
      {R"({"version": 99, "intervals": []})", "this is a report of version 99"},
      {R"({"intervals": 5})", "has no \"intervals\""},
      {R"({"intervals": [{"t": 1, "moved": [1], "moved_to": []}]})", "the same length"},
      {R"({"intervals": [{"t": 1, "moved": [-1], "moved_to": ["0"]}]})", "not a rank"},
      {R"({"intervals": [{"t": 1, "moved": [1e9], "moved_to": ["0"]}]})", "not a rank"},
      {R"({"intervals": [{"t": 1, "moved": [1], "moved_to": [0]}]})", "not a list of CPUs"},
      {R"({"intervals": [{"t": 1, "moved": [1], "moved_to": ["x"]}]})", "moved_to"},
      {R"({"intervals": [{"t": 1, "moved": [1], "moved_to": [""]}]})", "an empty list"},
      {R"({"intervals": [{"moved": [1], "moved_to": ["0"]}]})", "no time"},
      {R"({"intervals": [{"t": -1, "moved": [1], "moved_to": ["0"]}]})", "negative"},
      {R"({"intervals": [{"t": 2, "moved": [1], "moved_to": ["0"]},
                         {"t": 1, "moved": [1], "moved_to": ["1"]}]})",
       "interval 1: its time is before"}};
  for (const auto& [text, part] : wrong) {
    const auto turns = parse_recorded_moves(text);
    CAPTURE(text);
    REQUIRE_FALSE(turns);
    CHECK(turns.error().message().find(part) != std::string::npos);
  }
}
