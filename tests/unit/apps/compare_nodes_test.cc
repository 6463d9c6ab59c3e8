// SPDX-License-Identifier: Apache-2.0
// ondeloc compare --nodes.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

// Sixteen ranks: rank i sends much to rank i ^ 8, and a little to rank i ^ 1.
std::string eights(const TempDir& dir) {
  std::string text = "src,dst,bytes,messages\n";
  for (int i = 0; i < 16; ++i) {
    text += std::to_string(i) + "," + std::to_string(i ^ 8) + ",1000000,10\n";
    text += std::to_string(i) + "," + std::to_string(i ^ 1) + ",1000,1\n";
  }
  write_text(dir.file("far.csv"), text);
  return dir.file("far.csv");
}

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("compare --nodes shows the distributions of place beside each other") {
  const TempDir dir;
  const std::vector<std::string> common{eights(dir),          "-N", "2",   "-t",
                                        "numa:2 core:4 pu:1", "-f", "json"};
  const Ran ran = run_command(dir, joined({"compare"}, common));
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const auto rows = nlohmann::json::parse(ran.out);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["name"] == "block");
  CHECK(rows[0]["off_node_bytes"] == 16000000);
  CHECK(rows[1]["name"] == "cyclic");
  CHECK(rows[1]["off_node_bytes"] == 16000);
  CHECK(rows[3]["name"] == "placed");
  CHECK(rows[3]["off_node_bytes"] == 0);
  for (const auto& row : rows) {
    CHECK(row["mapped_cost"] <= row["packed_cost"]);
    CHECK(rows[3]["cost"] <= row["cost"]);
  }
  const Ran placed = run_command(dir, joined({"place"}, common));
  auto layouts = nlohmann::json::parse(placed.out)["layouts"];
  REQUIRE(layouts.size() == rows.size());
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (const char* key : {"name", "off_node_bytes", "off_node_messages", "cost"})
      CHECK(layouts[i][key] == rows[i][key]);
  }
}

TEST_CASE("compare --nodes refuses what it cannot compare") {
  const TempDir dir;
  const std::string file = eights(dir);
  struct Wrong {
    std::vector<std::string> words;
    const char* problem;
  };
  for (const Wrong& wrong :
       {Wrong{{"-N", "2", "-t", "core:4 pu:1"}, "16 ranks of 1 CPU do not fit on 2 nodes"},
        {{"-N", "2", "-a", "packed"}, "leave out --algorithms and --previous"},
        {{file}, "several files are those of the nodes of a step; give --nodes N"}}) {
    const Ran ran = run_command(dir, joined({"compare", file}, wrong.words));
    std::string line = ran.err;
    std::replace(line.begin(), line.end(), '\n', ' ');
    CAPTURE(wrong.problem, ran.err);
    CHECK(ran.status == 1);
    CHECK(line.find(wrong.problem) != std::string::npos);
  }
}
