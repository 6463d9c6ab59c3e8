// SPDX-License-Identifier: Apache-2.0
// The tree of domains on real and made machines.
#include <fmt/format.h>

#include <set>

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

Machine load_real(const char* name) {
  auto machine = load_machine(test_data() + "/topologies/" + name);
  REQUIRE(machine.ok());
  return *std::move(machine);
}

Domain between(const Machine& machine, int a, int b) {
  return shared_domain(machine.seat_of(*machine.find(PuOs(a))),
                       machine.seat_of(*machine.find(PuOs(b))));
}

void check_tree(const Machine& machine) {
  CpuSet seen;
  for (const Llc& llc : machine.llcs) {
    CHECK_FALSE(llc.pus.intersects(seen));
    CHECK(llc.pus.is_subset_of(machine.nodes[llc.node.value].pus));
    seen |= llc.pus;
  }
  CHECK(seen == machine.all_pus());
  for (const Pu& pu : machine.pus) CHECK(machine.llcs[pu.llc.value].pus.test(pu.os));
}

}  // namespace

TEST_CASE("two ranks share the smallest domain that holds both") {
  const Machine machine = *load_machine("package:2 numa:2 l3:2 l2:2 core:2 pu:2");
  CHECK(machine.llcs.size() == 8);
  CHECK(between(machine, 0, 1) == Domain::kCore);
  CHECK(between(machine, 0, 2) == Domain::kL2);
  CHECK(between(machine, 0, 4) == Domain::kLlc);
  CHECK(between(machine, 0, 8) == Domain::kNode);
  CHECK(between(machine, 0, 16) == Domain::kPackage);
  CHECK(between(machine, 0, 32) == Domain::kMachine);
  check_tree(machine);
}

TEST_CASE("an EPYC has sixteen last-level caches, a Xeon Max one for each package") {
  const Machine epyc = load_real("epyc-7763-2s8l8c2t.xml");
  CHECK(epyc.llcs.size() == 16);
  CHECK(epyc.llcs.front().bytes == 32u << 20);
  CHECK(epyc.model.find("EPYC 7763") != std::string::npos);
  check_tree(epyc);
  const Machine max = load_real("xeon-max-9460-2s40c2t.xml");
  CHECK(max.llcs.size() == 2);
  check_tree(max);
}

TEST_CASE("every topology of the tests has a complete tree") {
  for (const char* name :
       {"128arm-2pa2n8cluster4co.xml", "16amd64-4distances.xml", "16amd64-8n2c-cpusets.xml",
        "16em64t-4s2c2t-offlines.xml", "192em64t-24n8c2t.xml", "8intel64-4n2t-memattrs.xml",
        "96em64t-4n4d3ca2co-pci.xml", "fakeheterocpunuma.xml", "fakeheteromemtiers.xml",
        "hybrid-6c2t-8c1t.xml", "power9-gpu-numanodes.xml"}) {
    INFO(name);
    check_tree(load_real(name));
  }
}

TEST_CASE("a shared L2 is the last-level cache where there is no L3") {
  const Machine a64fx = *load_machine("numa:4 l2:1 core:12 pu:1");
  CHECK(a64fx.llcs.size() == 4);
  CHECK(a64fx.llcs.front().level == Level::kL2);
  const Machine pairs = *load_machine("numa:1 l2:4 core:2 pu:1");
  CHECK(pairs.llcs.size() == 4);
  const Machine priv = *load_machine("numa:2 l2:4 core:1 pu:2");
  CHECK(priv.llcs.size() == 2);
  CHECK(priv.llcs.front().level == Level::kNuma);
  CHECK_FALSE(priv.splits_nodes());
}

TEST_CASE("memory of GPUs at the root of the machine takes no PUs") {
  const Machine machine = load_real("made-gpu-memory-at-root.xml");
  REQUIRE(machine.nodes.size() == 2);
  CHECK(machine.nodes[1].os == 2);
  CHECK(machine.nodes[1].pus.to_list() == "4-7");
  REQUIRE(machine.other_memories.size() == 1);
  CHECK(machine.other_memories[0].kind == "GPUMemory");
}

TEST_CASE("HBM beside DDR is not a NUMA node of its own") {
  const Machine tiers = load_real("fakeheteromemtiers.xml");
  for (const OtherMemory& memory : tiers.other_memories)
    for (const NumaNode& node : tiers.nodes)
      if (node.pus == memory.near) CHECK(node.kind != "NVM");
  CHECK(tiers.other_memories.size() + tiers.nodes.size() == 7);
  CHECK(load_real("power9-gpu-numanodes.xml").nodes.size() == 2);
}

TEST_CASE("an empty memory beside another is not the NUMA node") {
  const Machine machine = load_real("made-empty-memory.xml");
  REQUIRE(machine.nodes.size() == 2);
  CHECK(machine.nodes[0].os == 1);
  CHECK(machine.nodes[1].os == 3);
  CHECK(machine.other_memories.size() == 2);
  // If all are empty, as in a recording that lacks the sizes, the first is the node.
  CHECK(load_machine("pack:1 [numa(memory=0)] [numa(memory=0)] core:2 pu:1")->nodes[0].os == 0);
}

TEST_CASE("kinds of cores and offline CPUs are known") {
  const Machine hybrid = load_real("hybrid-6c2t-8c1t.xml");
  REQUIRE(hybrid.core_kinds.size() == 2);
  CHECK(hybrid.core_kinds[0].pus.count() + hybrid.core_kinds[1].pus.count() == 20);
  const Machine offlines = load_real("16em64t-4s2c2t-offlines.xml");
  CHECK(offlines.offline.to_list() == "2,5,7-11,13-14");
  CHECK(restrict_machine(offlines, offlines.allowed).offline == offlines.offline);
}

TEST_CASE("restriction renumbers last-level caches and drops empty ones") {
  const Machine whole = *load_machine("package:2 numa:1 l3:4 core:4 pu:1");
  const Machine part = restrict_machine(whole, *CpuSet::parse_list("2-3,17-20"));
  REQUIRE(part.nodes.size() == 2);
  REQUIRE(part.llcs.size() == 3);
  CHECK(part.llcs[1].pus.to_list() == "17-19");
  CHECK(part.llcs[2].pus.to_list() == "20");
  CHECK(part.llcs[2].node.value == 1);
  CHECK(part.find(PuOs(20))->llc.value == 2);
  CHECK(between(part, 3, 17) == Domain::kMachine);
  CHECK(between(part, 17, 20) == Domain::kNode);
  check_tree(part);
}

TEST_CASE("without packages every NUMA node counts as one") {
  const Machine machine = *load_machine("numa:2 l3:2 core:2 pu:1");
  CHECK(between(machine, 0, 2) == Domain::kNode);
  CHECK(between(machine, 0, 4) == Domain::kMachine);
}
