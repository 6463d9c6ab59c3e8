// SPDX-License-Identifier: Apache-2.0
// Commands on traffic that leaves the node, with the network adapters of a topology.
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "tests/unit/apps/command.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace adapters_test {
namespace {

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// Rank 5 is on NUMA node 0 of the file below, whose adapter is on node 1.
std::string far_report(const TempDir& dir) {
  write_text(dir.file("far.json"), R"({"node":"n1","job":1,"step":0,"mode":"static",
    "ranks":[{"rank":4,"initial_cpus":"8","final_cpus":"8"},
             {"rank":5,"initial_cpus":"0","final_cpus":"0"}],
    "matrix":[{"src":4,"dst":5,"bytes":1000,"messages":1}],
    "off_node":[{"src":5,"bytes":5000,"messages":2}],
    "adapters":[{"name":"mlx5_0","near_bytes":0,"far_bytes":5000}],
    "intervals":[{"t":1,"bytes":1000,"decision":"waits"}],"totals":{"wall_ms":1000}})");
  return dir.file("far.json");
}

std::string one_adapter() { return test_data() + "/topologies/32em64t-2n8c2t-pci-normalio.xml"; }

}  // namespace

TEST_CASE("evaluate tells which rank is away from the adapter, and what that costs") {
  const TempDir dir;
  const std::string report = far_report(dir);
  const std::vector<std::string> words{"evaluate", report, "--mapping",
                                       report,     "-t",   one_adapter()};
  const Ran ran = run_command(dir, words);
  CHECK(ran.status == 0);
  CHECK(ran.told() == 1);
  CHECK(has(ran.err, "such as rank 5;"));
  CHECK(has(ran.out, "far share       1.0000"));
  std::vector<std::string> without = words;
  without.insert(without.end(), {"--devices", "off"});
  const Ran off = run_command(dir, without);
  CHECK(off.told() == 0);
  CHECK_FALSE(has(off.out, "far share"));
}

TEST_CASE("evaluate and replay of intervals count bytes to other nodes") {
  const TempDir dir;
  const std::string report = far_report(dir);
  const std::vector<std::string> words{"evaluate",  "--intervals", report, "--interval", "500ms",
                                       "--mapping", report,        "-t",   one_adapter()};
  const Ran table = run_command(dir, words);
  CHECK(table.status == 0);
  CHECK(has(table.err, "such as rank 5;"));
  CHECK(has(table.out, "peak load      far\n"));
  std::vector<std::string> as_json = words;
  as_json.insert(as_json.end(), {"-f", "json"});
  const auto intervals = nlohmann::json::parse(run_command(dir, as_json).out)["intervals"];
  REQUIRE(intervals.size() == 2);
  for (const auto& interval : intervals) CHECK(interval["cost"]["far_share"] == 1);
  // Both ranks send, so that one of them is far from the adapter in any mapping at the start.
  std::string both = read_text(report);
  both.insert(both.find("{\"src\":5"), R"({"src":4,"bytes":5000,"messages":2},)");
  write_text(dir.file("both.json"), both);
  const auto replay = [&](const std::string& devices) {
    const Ran ran = run_command(dir, {"replay", dir.file("both.json"), "--interval", "500ms", "-f",
                                      "json", "-t", one_adapter(), "--devices", devices});
    REQUIRE(ran.status == 0);
    return nlohmann::json::parse(ran.out);
  };
  const auto with = replay(one_adapter()), without = replay("off");
  CHECK(with["intervals"][0]["off_node_bytes"] == 5000);
  CHECK(without["intervals"][0]["off_node_bytes"] == 5000);
  CHECK(with["start_cost"] > without["start_cost"]);
}

TEST_CASE("map puts the rank that sends off the node near its adapter, and compare shows it") {
  const TempDir dir;
  const std::string report = far_report(dir);
  const Ran ran = run_command(dir, {"map", report, "-t", one_adapter(), "-f", "json"});
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["ranks"][1]["rank"] == 5);
  CHECK(json["ranks"][1]["numa"] == 1);
  CHECK(json["cost"]["far_share"] == 0);
  const Ran compared = run_command(dir, {"compare", report, "-t", one_adapter()});
  CHECK(has(compared.out, "100 far"));
  CHECK(has(compared.out, "  0 far"));
}

TEST_CASE("devices of a file go with another topology, if its CPUs are there") {
  const TempDir dir;
  const std::string report = far_report(dir);
  std::vector<std::string> words{"map",       report,       "-t", "package:2 numa:1 core:16 pu:1",
                                 "--devices", one_adapter()};
  CHECK(run_command(dir, words).status == 0);
  words[3] = "package:2 numa:1 core:2 pu:1";
  const Ran lacking = run_command(dir, words);
  CHECK(lacking.status == 1);
  CHECK(lacking.told() == 1);
  CHECK(has(lacking.err, "--devices: "));
  CHECK(has(lacking.err, "which the topology lacks"));
  for (const std::string& none : {dir.file("none.xml"), std::string("numa:2 core:4 pu:1")}) {
    words[5] = none;
    const Ran missing = run_command(dir, words);
    CHECK(missing.told() == 1);
    CHECK(has(missing.err, "No such file or directory"));
  }
}

TEST_CASE("explain and report tell the bytes through each adapter") {
  const TempDir dir;
  for (const char* command : {"explain", "report"}) {
    const Ran ran = run_command(dir, {command, far_report(dir)});
    CHECK(ran.status == 0);
    CHECK(has(ran.out,
              "through mlx5_0 to other nodes: 0 B from ranks near it, 5 kB from other ranks\n"));
  }
}

}  // namespace adapters_test
