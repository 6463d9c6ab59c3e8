// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/deloc.h"

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

namespace deloc_test {
using namespace ondeloc;

namespace {

struct Case {
  Machine machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
  MapRequest request() const { return {machine, slots, traffic, model, previous}; }
};

Case make_case(const char* topology, int ranks, std::vector<MatrixEntry> entries = {}) {
  Case made;
  made.machine = *load_machine(topology);
  for (const Pu& pu : made.machine.pus) {
    CpuSet one;
    one.set(pu.os);
    made.slots.push_back(make_slot(made.machine, one));
  }
  made.traffic = Traffic(CommMatrix::from_entries(ranks, std::move(entries)));
  made.model = CostModel::from(made.machine);
  return made;
}

std::vector<int> nodes_of(const Case& c, const Result<Mapping>& mapping) {
  REQUIRE(mapping.ok());
  REQUIRE(is_valid(*mapping, c.slots));
  std::vector<int> nodes;
  for (const SlotIndex slot : *mapping) nodes.push_back(c.slots[slot.value].node.value);
  return nodes;
}

}  // namespace

TEST_CASE("deloc: pairs of one group go to different nodes, heaviest first") {
  const Case c = make_case("numa:2 core:4 pu:1", 8);
  // Figure 2.4's neighbours: 0-1 and 2-3 heavy, 4-5 and 6-7 light, all at once.
  const std::vector<PairGroup> one{{{0, 1, 10}, {2, 3, 9}, {4, 5, 2}, {6, 7, 1}}};
  CHECK(nodes_of(c, map_deloc_groups(c.request(), one)) == std::vector{0, 0, 1, 1, 0, 0, 1, 1});
}

TEST_CASE("deloc: the heavier group takes precedence, whatever its pairs weigh alone") {
  const Case c = make_case("numa:2 core:2 pu:1", 4);
  // L_group 12 of 22 for the second group, although the first has the heaviest pair.
  const std::vector<PairGroup> groups{{{0, 1, 10}}, {{0, 2, 6}, {1, 3, 6}}};
  CHECK(nodes_of(c, map_deloc_groups(c.request(), groups)) == std::vector{0, 1, 0, 1});
}

TEST_CASE("deloc: the other rank of a half-mapped pair goes to the current node, or joins") {
  const Case c = make_case("numa:2 core:3 pu:1", 3);
  const std::vector<PairGroup> chain{{{0, 1, 10}, {1, 2, 5}}};
  CHECK(nodes_of(c, map_deloc_groups(c.request(), chain)) == std::vector{0, 0, 1});
  CHECK(nodes_of(c, map_deloc_groups(c.request(), chain, "join")) == std::vector{0, 0, 0});
}

TEST_CASE("deloc from a sum matrix is one group; full nodes are passed over") {
  Case c = make_case("numa:2 core:2 pu:1", 4, {{0, 2, 100, 1}, {1, 3, 90, 1}, {0, 1, 5, 1}});
  CHECK(nodes_of(c, compute_mapping("deloc", c.request())) == std::vector{0, 1, 0, 1});
  Case full = make_case("numa:2 core:3 pu:1", 6, {{0, 1, 9, 1}, {2, 3, 8, 1}, {4, 5, 7, 1}});
  // Nodes have three PUs: the third pair finds one place on each node.
  CHECK(nodes_of(full, compute_mapping("deloc", full.request())) == std::vector{0, 0, 1, 1, 0, 1});
  CHECK(!compute_mapping("deloc:x", full.request()).ok());
}

TEST_CASE("deloc places ranks that talk to nobody, and every rank once, on any shape") {
  for (int ranks = 1; ranks <= 12; ++ranks) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i + 1 < ranks; i += 3) entries.push_back({i, i + 1, 1.0 + i, 1});
    const Case c = make_case("numa:3 core:2 pu:2", ranks, entries);
    CHECK(nodes_of(c, compute_mapping("deloc", c.request())).size() ==
          static_cast<std::size_t>(ranks));
    CHECK(nodes_of(c, compute_mapping("deloc:join", c.request())).size() ==
          static_cast<std::size_t>(ranks));
  }
}

}  // namespace deloc_test
