// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/machine_file.h"

#include <nlohmann/json.hpp>

#include <string>

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

MachineFile made() {
  MachineFile file;
  file.date = "2026-11-24";
  file.host = "node7";
  file.cpus = 32;
  file.llcs = 8;
  file.packages = 2;
  file.domains[2] = {25e-9, 12e9, 30e-9};
  file.domains[3] = {110e-9, 8e9, 120e-9};
  file.domains[5] = {220e-9, 5e9, 240e-9};
  file.nodes = {{0, 100e9, 90e9}, {1, 101e9, 91e9}};
  file.links = {{0, 1, 40e9}, {1, 0, 41e9}};
  file.core_bandwidth = 12e9;
  file.port_bandwidth = 35e9;
  return file;
}

}  // namespace

TEST_CASE("a machine file is read as it was written") {
  const auto file = parse_machine_file(to_json(made()), "node7.json");
  REQUIRE(file.ok());
  CHECK(file->source() == "measured 2026-11-24 on node7");
  CHECK(file->domain(Domain::kNode).latency == Approx(110e-9));
  CHECK(file->nodes.at(1).shared == Approx(91e9));
  CHECK(file->links.at(0).bandwidth == Approx(40e9));
  CHECK(check_machine_file(*file, *load_machine("package:2 numa:1 l3:4 core:4 pu:1"), "f").ok());
  const Status other = check_machine_file(*file, *load_machine("numa:2 core:4 pu:1"), "f");
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().message().find("this machine is another") != std::string::npos);
}

TEST_CASE("numbers of a machine file have four digits") {
  MachineFile file;
  for (const double rate : {131123456.0, 250912345.0, 1.23456789e13, 5.4321})
    file.links.push_back({0, static_cast<int>(file.links.size()) + 1, rate});
  const std::string text = to_json(file);
  INFO(text);
  for (const char* rate : {" 131100000.0", " 250900000.0", " 12350000000000.0", " 5.432"})
    CHECK(text.find(std::string("\"bandwidth\":") + rate + "\n") != text.npos);
}

TEST_CASE("a bad machine file is one sentence") {
  for (const char* text :
       {"", "[]", "{", "{\"ondeloc_machine\": 2}", "{\"ondeloc_machine\": 1}",
        "{\"ondeloc_machine\": 1, \"domains\": {\"llc\": {\"latency_ns\": -1}}}",
        "{\"ondeloc_machine\": 1, \"domains\": {\"llc\": {\"latency_ns\": 1e10}}}",
        "{\"ondeloc_machine\": 1, \"domains\": {}, \"nodes\": 7, \"date\": \"d\", \"host\": \"h\"}",
        "{\"ondeloc_machine\": 1, \"domains\": {}, \"date\": \"d\", \"host\": \"h\"}"}) {
    const auto file = parse_machine_file(text, "x.json");
    INFO(text);
    REQUIRE_FALSE(file.ok());
    CHECK(file.error().message().find("machine file 'x.json': ") == 0);
    CHECK(file.error().message().find("; write it with ondeloc measure") != std::string::npos);
  }
}

namespace {

// The file made() with one value of its JSON changed; an empty value takes the member away.
std::string changed(const std::string& pointer, const std::string& value) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(made()));
  const nlohmann::ordered_json::json_pointer place(pointer);
  if (value.empty())
    json[place.parent_pointer()].erase(place.back());
  else
    json[place] = nlohmann::ordered_json::parse(value);
  return json.dump();
}

}  // namespace

TEST_CASE("a machine file with nonsense is refused, and the sentence names the place") {
  const std::string no_rate = "is neither 0 nor a number from 1 to 1e+15",
                    no_latency = "is neither 0 nor a number from 0.1 to 1e+09",
                    no_bandwidth = "\"machine\" of \"domains\" has a latency and no bandwidth";
  struct Change {
    const char *place, *value;
    std::string told;
  };
  for (const auto& [place, value, told] :
       {Change{"/domains/machine/bandwidth", "", no_bandwidth},
        Change{"/domains/machine/bandwidth", "0", no_bandwidth},
        Change{"/domains/machine/bandwidth", "5e-324",
               "\"bandwidth\" of \"machine\" of \"domains\" " + no_rate},
        Change{"/domains/node/latency_ns", "1e-9",
               "\"latency_ns\" of \"node\" of \"domains\" " + no_latency},
        Change{"/domains/node/home_other_ns", "[120]",
               "\"home_other_ns\" of \"node\" of \"domains\" " + no_latency},
        Change{"/domains/package", "7", "\"package\" of \"domains\" is not an object"},
        Change{"/nodes/0/shared", "0.5", "\"shared\" of element 1 of \"nodes\" " + no_rate},
        Change{"/links/1/bandwidth", "1e300", "\"bandwidth\" of element 2 of \"links\" " + no_rate},
        Change{"/port_bandwidth", "1e-9", "\"port_bandwidth\" " + no_rate},
        Change{"/core_bandwidth", "true", "\"core_bandwidth\" " + no_rate},
        Change{"/nodes", "[5, 6]", "element 1 of \"nodes\" is not an object"},
        Change{"/links/-", "[]", "element 3 of \"links\" is not an object"},
        Change{"/nodes/1/os", "0.9",
               "\"os\" of element 2 of \"nodes\" is not a whole number from 0 to 4096"},
        Change{"/nodes/1/os", "", "\"os\" of element 2 of \"nodes\" is missing"},
        Change{"/nodes/1/os", "0",
               "\"os\" of element 2 of \"nodes\" is 0, as in an element before"},
        Change{
            "/links/-", R"({"from": 0, "to": 1, "bandwidth": 4e10})",
            "\"from\" and \"to\" of element 3 of \"links\" are 0 and 1, as in an element before"},
        Change{"/cpus", "128.9", "\"cpus\" is not a whole number from 0 to "}}) {
    CAPTURE(place, value);
    const auto file = parse_machine_file(changed(place, value), "x.json");
    REQUIRE_FALSE(file.ok());
    CHECK(file.error().message().find("machine file 'x.json': " + told) == 0);
  }
  CHECK(parse_machine_file(changed("/cpus", "32.0"), "f").ok());
  CHECK(parse_machine_file(changed("/links/0/bandwidth", "0"), "f").ok());
}

TEST_CASE("a machine file that names nodes and measured nothing is refused") {
  MachineFile file = made();
  file.domains = {};
  CHECK(parse_machine_file(to_json(file), "f").ok());
  file.nodes = {{0, 0, 0}};
  const auto read = parse_machine_file(to_json(file), "f");
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message().find("no measured number") != std::string::npos);
}

TEST_CASE("a machine file of another NUMA setting of the same CPUs is refused") {
  const auto fits = [](const std::string& json, const char* topology) {
    const auto file = parse_machine_file(json, "f");
    REQUIRE(file.ok());
    return check_machine_file(*file, *load_machine(topology), "f");
  };
  const char *one = "package:2 numa:1 l3:4 core:4 pu:1",
             *four = "package:2 numa:4 l3:1 core:4 pu:1";
  MachineFile measured = made();
  for (int os = 2; os < 8; ++os) measured.nodes.push_back({os, 25e9, 24e9});
  measured.domains[4] = {160e-9, 6e9, 170e-9};
  // A file without the number of NUMA nodes tells it by the nodes that it names.
  CHECK(fits(to_json(measured), four).ok());
  const Status named = fits(to_json(measured), one);
  REQUIRE_FALSE(named.ok());
  CHECK(named.error().message().find("NUMA node 2, which this machine lacks") != std::string::npos);
  // With the number, the nodes of an allocation are enough.
  measured.nodes = {{1, 100e9, 0}};
  measured.domains[4] = measured.domains[5] = {};
  std::string json = to_json(measured);
  CHECK(fits(json, one).ok());
  json.insert(json.find("\"cpus\""), "\"numa_nodes\": 2, ");
  CHECK(fits(json, one).ok());
  const Status counted = fits(json, four);
  REQUIRE_FALSE(counted.ok());
  CHECK(counted.error().message().find("2 NUMA nodes, and this machine has 8") !=
        std::string::npos);
}

TEST_CASE("a file without the number of NUMA nodes tells it by the packages of the nodes") {
  // Each node has the cores of two caches or more, as on an EPYC.
  const char *one = "package:2 numa:1 l3:8 core:2 pu:1", *two = "package:2 numa:2 l3:4 core:2 pu:1",
             *four = "package:2 numa:4 l3:2 core:2 pu:1";
  struct Allocation {
    int nodes;                        // the first ones
    bool crosses_nodes, crosses_all;  // messages inside a package, and between packages
  };
  const auto fits = [](const Allocation& of, const char* topology) {
    MachineFile measured = made();
    measured.llcs = 16;
    measured.nodes.clear();
    for (int os = 0; os < of.nodes; ++os) measured.nodes.push_back({os, 25e9, 24e9});
    if (of.crosses_nodes) measured.domains[4] = {160e-9, 6e9, 170e-9};
    if (!of.crosses_all) measured.domains[5] = {};
    return check_machine_file(measured, *load_machine(topology), "f");
  };
  const Allocation all_of_one{2, false, true}, all_of_two{4, true, true},
      all_of_four{8, true, true};
  CHECK(fits(all_of_one, one).ok());
  CHECK(fits(all_of_two, two).ok());
  CHECK(fits(all_of_four, four).ok());
  const Allocation package_of_two{2, true, false}, package_of_four{4, true, false},
      node{1, false, false};
  CHECK(fits(package_of_two, two).ok());
  CHECK(fits(package_of_two, four).ok());  // two nodes of one package: the file cannot tell
  CHECK(fits(package_of_four, four).ok());
  for (const char* topology : {one, two, four}) CHECK(fits(node, topology).ok());
  const auto refused = [&](const Allocation& of, const char* topology) {
    const Status status = fits(of, topology);
    REQUIRE_FALSE(status.ok());
    return status.error().message();
  };
  CHECK(refused(all_of_one, four) ==
        "machine file 'f': measured 2026-11-24 on node7 under another NUMA setting of the "
        "firmware, because NUMA nodes 0-1 lie in other packages there than here; run ondeloc "
        "measure here");
  refused(all_of_one, two);
  refused(all_of_two, four);
  refused(package_of_two, one);
  refused(package_of_four, two);
}
