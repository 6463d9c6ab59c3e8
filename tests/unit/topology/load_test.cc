// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/load.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mapcore/base/text.h"
#include "mapcore/map/cost.h"
#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {
std::string real(const char* name) { return test_data() + "/topologies/" + name; }
}  // namespace

TEST_CASE("a synthetic machine has its nodes, PUs and ancestors") {
  auto machine = load_machine("package:2 numa:1 core:4 pu:2");
  REQUIRE(machine.ok());
  CHECK(machine->nodes.size() == 2);
  CHECK(machine->pus.size() == 16);
  CHECK(machine->nodes[1].pus.to_list() == "8-15");
  const Pu* pu = machine->find(PuOs(11));
  REQUIRE(pu != nullptr);
  CHECK(pu->at(Level::kPackage) == 1);
  CHECK(pu->at(Level::kCore) == 5);
  CHECK(pu->node.value == 1);
}

TEST_CASE("the host loads and has allowed PUs") {
  auto machine = load_machine("host");
  REQUIRE(machine.ok());
  CHECK(!machine->allowed.empty());
  CHECK(!machine->nodes.empty());
}

TEST_CASE("the host is this machine, whatever the variables of hwloc say") {
  for (const auto& [name, value] :
       {std::pair{"HWLOC_SYNTHETIC", std::string("numa:2 core:700 pu:1")},
        {"HWLOC_XMLFILE", real("192em64t-24n8c2t.xml")}}) {
    INFO(name);
    setenv(name, value.c_str(), 1);
    const auto machine = load_machine("host");
    CHECK(load_machine("numa:2 core:4 pu:1")->pus.size() == 8);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    CHECK(load_machine("host").ok());
    unsetenv("HWLOC_THISSYSTEM");
    unsetenv(name);
    REQUIRE_FALSE(machine.ok());
    CHECK(machine.error().message().starts_with("topology 'host': HWLOC_XMLFILE"));
  }
}

TEST_CASE("real machines") {
  auto memattrs = load_machine(real("8intel64-4n2t-memattrs.xml"));
  REQUIRE(memattrs.ok());
  CHECK(memattrs->nodes.size() == 4);
  auto xeon2 = load_machine(real("32em64t-2n8c2t-pci-normalio.xml"));
  REQUIRE(xeon2.ok());
  CHECK(xeon2->nodes.size() == 2);
  CHECK(xeon2->pus.size() == 32);
  auto big = load_machine(real("192em64t-24n8c2t.xml"));
  REQUIRE(big.ok());
  CHECK(big->nodes.size() == 24);
  CHECK(big->distances.size() == 24 * 24);
  for (const char* name : {"16amd64-8n2c-cpusets.xml", "16em64t-4s2c2t-offlines.xml",
                           "96em64t-4n4d3ca2co-pci.xml", "16amd64-4distances.xml"}) {
    auto machine = load_machine(real(name));
    REQUIRE(machine.ok());
    for (const Pu& pu : machine->pus) CHECK(pu.node.value >= 0);
  }
}

TEST_CASE("CPUs beyond the largest number are told, not left out") {
  static_assert(CpuSet::kMaxCpu == 8192);
  CHECK(load_machine("pack:128 pu:64").ok());
  const auto far = load_machine("core:2 pu:1(indexes=0,9000)");
  REQUIRE_FALSE(far.ok());
  CHECK(far.error().message() ==
        "topology 'core:2 pu:1(indexes=0,9000)': CPU 9000 is beyond the 8192 that ondeloc knows");
}

TEST_CASE("a synthetic string of more CPUs than are known is refused before hwloc makes them") {
  for (const std::string text :
       {"pack:129 pu:64", "core:1000000 pu:1", "100000 100000 100000", "core:0x1000 pu:4",
        "pack:2 [numa(memory=1GB)] core:4097(indexes=numa:core) pu:1"}) {
    const auto more = load_machine(text);
    REQUIRE_FALSE(more.ok());
    CHECK(more.error().message() ==
          fmt::format("topology '{}': more CPUs than the 8192 that ondeloc knows",
                      shorten_path(text)));
  }
  CHECK(load_machine("pack:2 [numa(memory=9000MB)] core:4(indexes=core:pack) pu:2").ok());
}

TEST_CASE("a topology that may not be read is told as such") {
  const TempDir dir;
  const std::string& folder = dir.path();
  const std::string file = dir.file("node.xml");
  std::filesystem::copy_file(real("8intel64-4n2t-memattrs.xml"), file);
  for (const auto& [open, shut] : {std::pair{folder, file}, {file, folder}}) {
    REQUIRE(chmod(open.c_str(), 0755) == 0);
    REQUIRE(chmod(shut.c_str(), 0) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
      constexpr uid_t kNobody = 65534;
      if (getuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
      const auto machine = load_machine(file);
      _exit(!machine.ok() && machine.error().message().ends_with("Permission denied") ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  chmod(folder.c_str(), 0755);
}

TEST_CASE("restriction drops nodes without PUs and keeps whole-machine numbers") {
  auto machine = load_machine("numa:4 core:2 pu:1");
  REQUIRE(machine.ok());
  const Machine part = restrict_machine(*machine, *CpuSet::parse_list("2-3,6"));
  REQUIRE(part.nodes.size() == 2);
  CHECK(part.nodes[0].pus.to_list() == "2-3");
  CHECK(part.nodes[1].pus.to_list() == "6");
  CHECK(part.find(PuOs(6))->node.value == 1);
  CHECK(part.find(PuOs(6))->logical.value == 6);
  CHECK(part.find(PuOs(6))->at(Level::kNuma) == 3);
}

TEST_CASE("hwloc's numbers count where every node in use has them, whatever the others have") {
  const Machine whole = *load_machine(real("16amd64-8n2c-cpusets.xml"));
  CHECK(CostModel::from(whole).distance_source == "default");
  const Machine part = restrict_machine(whole, *CpuSet::parse_list("2-3,5-6"));
  const CostModel model = CostModel::from(part);
  CHECK(model.distance_source == "hwloc");
  CHECK(model.penalty == std::vector<double>{0, 1, 1, 1, 0, 1, 1, 1, 0});
}

TEST_CASE("local bandwidths alone are used, and links follow from them and the distances") {
  Machine machine = *load_machine("numa:3 core:1 pu:1");
  machine.nodes[0].bandwidth = machine.nodes[1].bandwidth = 40e9;
  CHECK(CostModel::from(machine).bandwidth_source == "default");
  machine = restrict_machine(machine, *CpuSet::parse_list("0-1"));
  machine.link_bandwidth = {40e9, 0, 0, 40e9};
  machine.distances = {10, 20, 20, 10};
  const CostModel model = CostModel::from(machine);
  CHECK(model.bandwidth_source == "hwloc");
  CHECK(model.bandwidth == std::vector<double>{40e9, 40e9});
  CHECK(model.link_source == "bandwidth of the node / relative distance");
  CHECK(model.link[1] == 20e9);
  machine.link_bandwidth = {40e9, 5e9, 6e9, 40e9};
  CHECK(CostModel::from(machine).link_source == "hwloc");
  CHECK(CostModel::from(machine).link[1] == 5e9);
}

TEST_CASE("a source that is not a topology gives one sentence") {
  for (const std::string& source : {std::string("nonsense"), std::string("numa:0"),
                                    std::string("/nowhere/x.xml"), test_data() + "/README.md"}) {
    auto machine = load_machine(source);
    REQUIRE(!machine.ok());
    CHECK(machine.error().message().find("topology '") == 0);
  }
}

TEST_CASE("a file that hwloc does not survive is one sentence") {
  const TempDir dir;
  std::ifstream in(real("8intel64-4n2t-memattrs.xml"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string attribute = "complete_cpuset=\"0x00000008\" ";
  REQUIRE(text.find(attribute) != std::string::npos);
  text.erase(text.find(attribute), attribute.size());
  std::ofstream(dir.file("damaged.xml")) << text;
  for (const auto of_parent : {SIG_DFL, SIG_IGN}) {  // a child's end is seen with both
    std::signal(SIGCHLD, of_parent);
    const auto machine = load_machine(dir.file("damaged.xml"));
    if (!machine.ok()) CHECK(machine.error().message().find("damaged.xml': hwloc c") != text.npos);
  }
  std::signal(SIGCHLD, SIG_DFL);
}
