// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/machine.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/lab/plugin/routes.h"
#include "tests/unit/catch.h"

using namespace numalab;
using Json = nlohmann::json;

namespace {

Json description(const std::string& name) {
  std::ifstream file(std::string(NUMALAB_MACHINES) + "/" + name + ".json");
  return Json::parse(file);
}

// Every number of the description, as names with dots; of the links one for all.
void numbers(const Json& node, const std::string& at, std::vector<std::string>& found) {
  for (const auto& [key, value] : node.items()) {
    const std::string name = at.empty() ? key : at + "." + key;
    if (key == "sources" || key == "between") continue;
    if (value.is_number()) found.push_back(name);
    if (value.is_object()) numbers(value, name, found);
    if (value.is_array() && !value.empty()) numbers(value[0], name, found);
  }
}

}  // namespace

TEST_CASE("each machine in the tree is read, and each of its numbers has a source") {
  int machines = 0;
  for (const auto& file : std::filesystem::directory_iterator(NUMALAB_MACHINES)) {
    INFO(file.path().string());
    const Machine machine = read_machine(file.path().string());
    CHECK(machine.name + ".json" == file.path().filename().string());
    const Json json = description(machine.name);
    std::vector<std::string> found;
    numbers(json, "", found);
    for (const std::string& name : found) {
      INFO(name);
      CHECK(json["sources"].contains(name));
      CHECK(json["sources"].value(name, "").size() > 10);
    }
    CHECK(json["sources"].size() == found.size());
    ++machines;
  }
  CHECK(machines >= 5);
}

TEST_CASE("a wrong description says what is wrong and where") {
  Json json = description("xeon2");
  const auto problem = [&](const Json& changed) {
    try {
      parse_machine(changed.dump(), "m.json");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(problem(json).empty());
  Json changed = json;
  changed["memory"].erase("latency_ns");
  CHECK(problem(changed) == "m.json: memory/latency_ns: a number has to be there");
  changed = json;
  changed["nodes"] = 9;
  CHECK(problem(changed) == "m.json: nodes: has to be from 1 to 8, not 9");
  changed = json;
  changed["llc"]["kib"] = 1000;
  CHECK(problem(changed) == "m.json: llc: kib and ways have to give a power of two of sets");
  changed = json;
  changed["links"][0]["between"] = {0, 7};
  const std::string told = problem(changed);
  CHECK(told.find("links/0/between/1: has to be from 0 to 1, not 7") != std::string::npos);
  changed = json;
  changed["nodes"] = 2.0;
  CHECK(problem(changed) == "m.json: nodes: a whole number has to be there");
  changed["nodes"] = "2";
  CHECK(problem(changed) == "m.json: nodes: a number has to be there");
  changed = json;
  changed.erase("links");
  CHECK(problem(changed) == "m.json: links: a list has to be there");
  changed["links"] = json["links"];
  changed["links"][0]["between"] = {0, 1, 1};
  CHECK(problem(changed) == "m.json: links/0/between: two nodes have to be there");
  CHECK(problem(Json("text")) == "m.json: this is not a JSON object");
  CHECK_THROWS_WITH(read_machine("/nowhere"), "/nowhere: the file cannot be read");
}

TEST_CASE("lines go by the way of least latency") {
  const Routes ring(read_machine(std::string(NUMALAB_MACHINES) + "/ring4.json"));
  CHECK(ring.links(2, 2).empty());
  CHECK(ring.latency_ps(0, 1) == 100'000);
  CHECK(ring.latency_ps(0, 2) == 200'000);
  CHECK(ring.links(0, 2).size() == 2);
  CHECK(ring.links(0, 3) ==
        std::vector<int>{7});  // link 3 is between 3 and 0, its second direction from 0 to 3
  Json apart = description("ring4");
  apart["links"] = Json::array();
  CHECK_THROWS_WITH(Routes(parse_machine(apart.dump(), "m.json")),
                    "ring4: links: a node cannot be reached");
}
