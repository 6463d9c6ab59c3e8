// SPDX-License-Identifier: Apache-2.0
// Cost and mappings on machines with network adapters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "mapcore/map/adapter_paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/map/adapters.h"
#include "tests/unit/map/case.h"
#include "tests/unit/map/starts.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace adapter_test {
namespace {

Device adapter_near(const char* cpus) {
  Device device = adapter_on(-1);
  device.near = *CpuSet::parse_list(cpus);
  return device;
}

CommMatrix drawn(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    const int j = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (i != j) entries.push_back({i, j, std::floor(random() % 1000 * 1e3), 1.0 + random() % 100});
  }
  return CommMatrix::from_entries(ranks, entries);
}

std::vector<double> drawn_bytes(int ranks, unsigned seed) {
  std::mt19937 random(seed + 77);
  std::vector<double> bytes;
  for (int i = 0; i < ranks; ++i)
    bytes.push_back(random() % 2 == 0 ? 0 : std::floor(random() % 1000 * 2e3));
  return bytes;
}

double least_of_all(const Case& c) {
  Mapping mapping;
  for (int i = 0; i < c.traffic.ranks(); ++i) mapping.emplace_back(i);
  double best = c.cost(mapping).total;
  do {
    best = std::min(best, c.cost(mapping).total);
  } while (std::next_permutation(mapping.begin(), mapping.end()));
  return best;
}

int node_of(const Case& c, const Mapping& mapping, int rank) {
  return c.slots[mapping[rank].value].node.value;
}

}  // namespace

TEST_CASE("by messages no byte counts, and shares are those of bytes all the same") {
  const CommMatrix matrix = CommMatrix::from_entries(4, {{0, 1, 3000, 1}, {0, 2, 1000, 9}});
  Case c("package:2 numa:1 core:2 pu:1", matrix, Weight::kMessages);
  give(c, {adapter_on(1)});
  const Mapping straight{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  const Cost without = c.cost(straight);
  CHECK(without.remote_share == 0.25);
  c.off_node = {1e9, 0, 0, 0};
  const Cost cost = c.cost(straight);
  CHECK(cost.total == without.total);
  CHECK(cost.busiest == without.busiest);
  CHECK(cost.far_share == 1);
  // The algorithms see what the cost sees: rank 0 does not move to its adapter.
  const Mapping mapped = c.map("coordinated");
  CHECK(c.cost(mapped).total == Approx(least_of_all(c)));
}

TEST_CASE("the way to an adapter loads the link and takes time, computed by hand") {
  const CommMatrix matrix = CommMatrix::from_entries(4, {{0, 1, 1000, 1}});
  Case c("package:2 numa:1 core:2 pu:1", matrix, Weight::kBytes);
  c.off_node = {400, 0, 700, 0};
  const Mapping straight{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  const Cost without = c.cost(straight);
  CHECK_FALSE(without.far_share);
  give(c, {adapter_on(0)});
  const Loads loads = add_up_loads(c.model, c.slots, c.traffic, straight, c.off_node);
  CHECK(loads.link[0] == 700);
  CHECK(loads.node[0] == 2400);
  CHECK(loads.node[1] == 700);
  CHECK(loads.adapter.empty());
  const Cost cost = c.cost(straight);
  CHECK(cost.adapter_time == Approx(700 * 93e-9 / (7 * 64) / 4));
  CHECK(cost.locality == Approx(without.locality + cost.adapter_time));
  CHECK(cost.far_share.value() == Approx(700.0 / 1100));
  CHECK(cost.remote_share == without.remote_share);
}

TEST_CASE("the load of adapters counts if the mapping chooses them") {
  const CommMatrix matrix = CommMatrix::from_entries(4, {{0, 1, 1, 1}});
  Case c("package:2 numa:1 core:2 pu:1", matrix, Weight::kBytes);
  c.off_node = {4e9, 4e9, 0, 0};
  give(c, {adapter_on(0, "a", 8), adapter_on(1, "b", 8)});
  const Mapping together{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  const Mapping apart{SlotIndex(0), SlotIndex(2), SlotIndex(1), SlotIndex(3)};
  CHECK(c.cost(together).congestion == Approx(8));
  CHECK(resource_text(c.machine, c.model, c.cost(together).fullest) == "network adapter a");
  CHECK(c.cost(apart).congestion == Approx(4));
  CHECK(c.cost(apart).adapter_time == 0);
  const Mapping mapped = c.map();
  CHECK(node_of(c, mapped, 0) != node_of(c, mapped, 1));
  give(c, {adapter_on(0, "a", 8), adapter_on(0, "b", 0)});
  CHECK(c.model.adapters.pools.at(0).bandwidth == 2 * kAdapterBandwidth);
}

TEST_CASE("ranks that send off the node go to their adapter") {
  const CommMatrix matrix = CommMatrix::from_entries(8, {{0, 4, 10, 1}});
  for (const char* machine :
       {"package:2 numa:1 core:4 pu:1", "package:2 numa:1 l3:2 core:2 pu:1"}) {
    Case c(machine, matrix);
    c.off_node = {0, 0, 1e6, 0, 0, 0, 1e6, 0};
    give(c, {adapter_on(1)});
    INFO(machine);
    const Mapping mapping = c.map();
    CHECK(node_of(c, mapping, 2) == 1);
    CHECK(node_of(c, mapping, 6) == 1);
    CHECK(c.cost(mapping).far_share.value() == 0);
    c.previous = mapping;
    CHECK(c.map() == mapping);
  }
}

TEST_CASE("coordinated finds the optimum of small trees with adapters", "[costs]") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const char* machine : {"package:2 numa:1 core:4 pu:1", "package:2 numa:1 l3:2 core:2 pu:1",
                                "package:2 numa:2 core:2 pu:1"}) {
      Case c(machine, drawn(8, seed));
      c.off_node = drawn_bytes(8, seed);
      for (const auto& devices :
           {std::vector{adapter_on(1)}, std::vector{adapter_on(0, "a", 10), adapter_on(1, "b")}}) {
        give(c, devices);
        INFO(machine << " " << seed << " " << devices.size());
        CHECK(c.cost(c.map("coordinated:5")).total <= least_of_all(c) * (1 + 1e-9));
      }
      std::vector<std::optional<std::size_t>> chosen(8);
      for (std::size_t i = 0; i < 6; ++i) chosen[i] = i % 2;
      c.model.adapters = fixed_adapters(c.machine, c.model.penalty, chosen);
      CHECK(c.cost(c.map("coordinated:5")).total <= least_of_all(c) * (1 + 1e-9));
    }
  }
}

TEST_CASE("with adapters coordinated is never worse than its starts") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const char* machine :
         {"package:2 numa:2 core:12 pu:1", "package:2 numa:2 l3:2 core:6 pu:1"}) {
      Case c(machine, drawn(48, seed));
      c.off_node = drawn_bytes(48, seed);
      give(c, {adapter_on(0, "a"), adapter_on(3, "b")});
      if (seed % 2 == 0) c.previous = c.map(fmt::format("random:{}", seed).c_str());
      INFO(machine << " " << seed);
      check_against_starts(c);
    }
  }
}

TEST_CASE("without a place, without bytes and without a choice nothing changes") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    for (const char* machine :
         {"package:2 numa:1 core:8 pu:1", "package:2 numa:2 l3:2 core:2 pu:1"}) {
      Case c(machine, drawn(16, seed));
      c.off_node = drawn_bytes(16, seed);
      const Mapping plain = c.map();
      const double cost = c.cost(plain).total;
      Device inactive = adapter_on(0), gpu = adapter_on(0);
      inactive.state = LinkState::kInactive;
      gpu.kind = DeviceKind::kNvidia;
      INFO(machine << " " << seed);
      for (const auto& devices : {std::vector<Device>{},
                                  {adapter_on(-1)},
                                  {inactive, gpu},
                                  {adapter_on(9)},
                                  {adapter_on(0), adapter_on(-1, "b")},
                                  {adapter_near("0-15")}}) {
        give(c, devices);
        CHECK(c.model.adapters.empty());
        CHECK(c.map() == plain);
        CHECK(c.cost(plain).total == cost);
      }
      give(c, {adapter_on(1)});
      c.off_node.assign(16, 0);
      const Mapping silent = c.map();
      const double silent_cost = c.cost(silent).total;
      give(c, {});
      CHECK(c.map() == silent);
      CHECK(c.cost(silent).total == silent_cost);
    }
  }
}

TEST_CASE("ways on machines of files: near nodes, packages and kinds") {
  const auto paths = [](const std::string& file, std::vector<Device> more = {}) {
    Machine machine = *load_machine(test_data() + "/topologies/" + file);
    machine.devices.insert(machine.devices.end(), more.begin(), more.end());
    CostOverrides overrides;
    overrides.adapters = true;
    return CostModel::from(machine, overrides).adapters;
  };
  const AdapterPaths two = paths("made-2s-gpu-hfi.xml");
  CHECK(two.home == std::vector<int>{0, 1});
  CHECK(two.pools.at(0).name == "hfi1_0");
  CHECK(two.pools.at(1).name == "hfi1_1");
  const AdapterPaths four = paths("made-4n-8gpu-4hca.xml");
  CHECK(four.pools.size() == 4);
  CHECK(four.pool == std::vector<int>{0, 1, 2, 3});
  CHECK(paths("made-mi300a.xml").pools.size() == 4);
  CHECK(paths("96em64t-4n4d3ca2co-pci.xml").empty());  // Ethernet of unknown state
  CHECK(paths("made-2s-gpu-hfi.xml", {adapter_on(1)}).pools.size() == 2);  // slower kind
}

TEST_CASE(
    "an adapter of a package is near all of its nodes, and a node takes the nearest adapter") {
  Case c("package:2 numa:2 core:2 pu:1", CommMatrix::from_entries(8, {{0, 1, 1, 1}}));
  give(c, {adapter_near("4-7")});
  CHECK(c.model.adapters.home == std::vector<int>{2, 2, 2, 3});
  CHECK(c.model.adapters.pools.size() == 1);
  CHECK(c.model.adapters.pool.empty());
  give(c, {adapter_on(0, "a"), adapter_on(3, "b")});
  CHECK(c.model.adapters.home == std::vector<int>{0, 0, 3, 3});
  CHECK(c.model.adapters.pool == std::vector<int>{0, 0, 1, 1});
}

}  // namespace adapter_test
