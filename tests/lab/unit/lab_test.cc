// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/lab.h"

#include <nlohmann/json.hpp>

#include "tests/lab/plugin/trigger.h"
#include "tests/unit/catch.h"

using namespace numalab;

namespace {

std::string problem(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  try {
    parse_settings(static_cast<int>(pointers.size()), pointers.data());
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("settings are read, and what is wrong is named") {
  CHECK(problem({"machine=m", "output=o", "node-mib=10", "window-ns=500"}).empty());
  CHECK(problem({"machine=m", "output=o"}) == "machine, output and node-mib have to be given");
  CHECK(problem({"node-mib=x"}) == "node-mib=x: a number from 1 to 1048576 has to be there");
  CHECK(problem({"colour=1"}) ==
        "colour=1: the lab knows machine, output, node-mib, window-ns and quantum-ns");
}

TEST_CASE("a trigger is seven bytes that no compiler makes") {
  const auto trigger = parse_trigger({0x0f, 0x1f, 0x80, 9, 4, 0x4c, 0x4e});
  REQUIRE(trigger);
  CHECK(trigger->command == Command::kDump);
  CHECK(trigger->tag == 9);
  CHECK_FALSE(parse_trigger({0x0f, 0x1f, 0x80, 0, 0, 0, 0}));
  CHECK_FALSE(parse_trigger({0x0f, 0x1f, 0x80, 9, 7, 0x4c, 0x4e}));
}

TEST_CASE("accesses cost their vCPU time and are counted") {
  const Machine machine = read_machine(std::string(NUMALAB_MACHINES) + "/xeon2.json");
  Settings settings;
  settings.node_mib = 1024;
  Lab lab(settings, machine);
  lab.pacer().start(0);
  lab.pacer().resumed(0);
  lab.mark(0, 0);
  lab.access(0, 64 * 1000, false);
  CHECK(lab.pacer().now(0) == 70'000);
  lab.access(0, 64 * 1000 + 8, false);
  CHECK(lab.pacer().now(0) == 70'000);
  for (std::uint64_t i = 1; i < 100; ++i) lab.access(0, 64 * (1000 + i), false);
  CHECK(lab.pacer().now(0) < 70'000 * 2 + 98 * 20'000);  // a stream
  lab.push_label(1);
  lab.push_label(2);
  const auto json = nlohmann::json::parse(lab.dump(0, 7, 2'000'000'000, 0.5));
  CHECK(json["label"] == 258);
  CHECK(json["tag"] == 7);
  CHECK(json["host_s"] == 2.0);
  CHECK(json["simulated_machine"] == "xeon2");
  CHECK(json["all"]["accesses"] == 101);
  CHECK(json["all"]["memory_local"] == 100);
  CHECK(json["llcs"][0]["memory_local"] == 100);
  CHECK(json["llcs"][1]["memory_local"] == 0);
  CHECK(json["controllers"][0]["bytes"] == 6400);
}
