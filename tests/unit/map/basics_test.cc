// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/cost.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

namespace basics_test {
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

Case make_case(const char* topology, int ranks, std::vector<MatrixEntry> entries) {
  Case made;
  made.machine = *load_machine(topology);
  for (const Pu& pu : made.machine.pus) {
    CpuSet one;
    one.set(pu.os);
    made.slots.push_back(make_slot(made.machine, one));
  }
  made.traffic = Traffic(CommMatrix::from_entries(ranks, std::move(entries)));
  made.model = CostModel::from(made.machine, {{}, {}, {}, Weight::kBytes, nullptr});
  return made;
}

std::vector<int> nodes_of(const Case& c, const Mapping& mapping) {
  std::vector<int> nodes;
  for (const SlotIndex slot : mapping) nodes.push_back(c.slots[slot.value].node.value);
  return nodes;
}

const std::vector<MatrixEntry> kCross = {{0, 2, 100, 1}, {1, 3, 90, 1}};

}  // namespace

TEST_CASE("baselines place every rank once") {
  const Case c = make_case("numa:2 core:2 pu:1", 4, kCross);
  CHECK(nodes_of(c, *compute_mapping("packed", c.request())) == std::vector{0, 0, 1, 1});
  CHECK(nodes_of(c, *compute_mapping("scatter", c.request())) == std::vector{0, 1, 0, 1});
  CHECK(*compute_mapping("random:7", c.request()) == *compute_mapping("random:7", c.request()));
  CHECK(!compute_mapping("random:x", c.request()).ok());
  CHECK(!compute_mapping("nonsense", c.request()).ok());
}

TEST_CASE("with threads to spare no rank shares a core beside an idle one of its node") {
  const char* machine = GENERATE("numa:2 core:4 pu:2", "package:1 numa:1 l3:2 core:4 pu:2");
  CAPTURE(machine);
  // Two chains of three ranks: one for each node or cache.
  Case c = make_case(machine, 6, {{0, 1, 100, 1}, {1, 2, 90, 1}, {3, 4, 70, 1}, {4, 5, 60, 1}});
  const auto shared = [&c](const char* algorithm) {
    std::vector<int> cores;
    const Mapping mapping = *compute_mapping(algorithm, c.request());
    for (const SlotIndex slot : mapping)
      cores.push_back(c.machine.find(PuOs(c.slots[slot.value].pus.first()))->at(Level::kCore));
    std::sort(cores.begin(), cores.end());
    return std::adjacent_find(cores.begin(), cores.end()) != cores.end();
  };
  for (const char* algorithm : {"coordinated", "balance"}) {
    CAPTURE(algorithm);
    c.previous = {};
    CHECK(!shared(algorithm));
    // Second threads of the first three cores of each node: who comes there gets the fourth.
    c.previous = {SlotIndex(1),  SlotIndex(9), SlotIndex(3),
                  SlotIndex(11), SlotIndex(5), SlotIndex(13)};
    CHECK(!shared(algorithm));
  }
}

TEST_CASE("ondeloc puts the two ranks of a pair on one node, pairs on different nodes") {
  Case c = make_case("numa:2 core:2 pu:1", 4, kCross);
  for (const char* reading : {"ondeloc", "ondeloc:together", "ondeloc:literal", "ondeloc:fresh"})
    CHECK(nodes_of(c, *compute_mapping(reading, c.request())) == std::vector{0, 1, 0, 1});
  c.previous = *compute_mapping("packed", c.request());
  for (const char* reading : {"ondeloc:together", "ondeloc:fresh"})
    CHECK(nodes_of(c, *compute_mapping(reading, c.request())) == std::vector{0, 1, 0, 1});
  CHECK(!compute_mapping("ondeloc:other", c.request()).ok());
}

TEST_CASE("ondeloc as the authors run it: partners join, and few moves are not applied") {
  // Four pairs across two nodes: each second rank joins the node of the first.
  Case c = make_case("numa:2 core:4 pu:1", 8,
                     {{0, 4, 100, 1}, {5, 1, 90, 1}, {2, 6, 80, 1}, {3, 7, 70, 1}});
  c.previous = *compute_mapping("packed", c.request());
  // 0 and 4 on node 0, 1 and 5 too; then node 0 is full.
  CHECK(*compute_mapping("ondeloc", c.request()) == c.previous);  // 4 of 8 move: not above 8 / 2
  Case more = make_case("numa:4 core:2 pu:1", 8,
                        {{0, 4, 100, 1}, {5, 1, 90, 1}, {2, 6, 80, 1}, {3, 7, 70, 1}});
  more.previous = *compute_mapping("packed", more.request());
  const auto nodes = nodes_of(more, *compute_mapping("ondeloc", more.request()));
  CHECK(nodes[0] == 0);
  CHECK(nodes[4] == 0);
  for (const int first : {0, 1, 2, 3}) CHECK(nodes[first] == nodes[first + 4]);
}

TEST_CASE("ondeloc:together moves nobody whose pair sits together, literal never anybody") {
  Case c = make_case("numa:2 core:2 pu:1", 4, kCross);
  c.previous = {SlotIndex(3), SlotIndex(1), SlotIndex(2), SlotIndex(0)};
  CHECK(*compute_mapping("ondeloc:together", c.request()) == c.previous);
  c.previous = {SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  CHECK(*compute_mapping("ondeloc:literal", c.request()) == c.previous);
}

TEST_CASE("cost terms of a hand-computed case") {
  const Case c = make_case("numa:2 core:2 pu:1", 4, kCross);
  const Cost apart = evaluate(c.model, c.slots, c.traffic, *compute_mapping("packed", c.request()));
  CHECK(apart.remote_share.value() == 1);
  CHECK(apart.congestion == Approx(190 / (20e9 / 2.1)));
  // A byte takes the 93 ns by which a line from the other package is later, a seventh of 64 bytes.
  const double byte_time = 93e-9 / (7 * 64);
  CHECK(apart.locality == Approx(190 * byte_time / 4));
  CHECK(apart.busiest == Approx(100 * byte_time));
  CHECK(apart.total == Approx(apart.congestion + apart.busiest + apart.locality));
  CHECK(apart.peak_load == Approx(1));
  const Cost together =
      evaluate(c.model, c.slots, c.traffic, *compute_mapping("scatter", c.request()));
  CHECK(together.remote_share.value() == 0);
  CHECK(together.congestion == Approx(200 / 20e9));
  CHECK(together.locality == 0);
  CHECK(together.peak_load == Approx(200.0 / 190));
}

TEST_CASE("each resource has one load: pairs of nodes between two packages share a link") {
  // Ranks 0 and 1 talk across the packages, from two caches.
  const Case c = make_case("package:2 numa:2 l3:2 core:1 pu:1", 8, {{0, 4, 30}, {1, 6, 50}});
  Mapping mapping;
  for (int i = 0; i < 8; ++i) mapping.emplace_back(i);
  const auto loads = resource_loads(c.model, add_up_loads(c.model, c.slots, c.traffic, mapping));
  REQUIRE(loads.size() == 4 + 3 + 8);  // nodes; two links inside packages, one between; caches
  double most = 0;
  std::vector<std::string> loaded;
  for (const ResourceLoad& load : loads) {
    CHECK(load.seconds == load.amount / load.rate);
    most = std::max(most, load.seconds);
    if (load.kind == Resource::kLink && load.amount > 0)
      loaded.push_back(resource_text(c.machine, c.model, load));
  }
  CHECK(loaded == std::vector<std::string>{"link between packages 0 and 1"});
  const Cost cost = evaluate(c.model, c.slots, c.traffic, mapping);
  CHECK(cost.congestion == most);
  CHECK(cost.fullest.seconds == most);
  CHECK(ends_of_link(c.machine, c.model, 0).are_packages == false);
}

}  // namespace basics_test
