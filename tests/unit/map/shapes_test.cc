// SPDX-License-Identifier: Apache-2.0
// Every algorithm on every shape of machine, step and matrix; and what the recorded programs cost
// on the recorded machines (tests/data/golden.csv).
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/algorithm.h"
#include "mapcore/map/slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

namespace shapes_test {
using namespace ondeloc;

namespace {

struct Case {
  Case(const std::string& topology, const CommMatrix& matrix, int cpus_per_task = 1,
       const char* cpuset = nullptr)
      : whole(*load_machine(topology)),
        usable(cpuset != nullptr ? *CpuSet::parse_list(cpuset) : whole.allowed),
        machine(restrict_machine(whole, usable)),
        slots(slots_for(machine, usable, matrix.ranks, cpus_per_task)),
        traffic(matrix),
        model(CostModel::from(machine)) {}
  Result<Mapping> map(const std::string& algorithm) const {
    return compute_mapping(algorithm, {machine, slots, traffic, model, previous, {}, &whole});
  }
  double cost(const Mapping& mapping) const {
    return evaluate(model, slots, traffic, mapping).total;
  }
  Machine whole;
  CpuSet usable;
  Machine machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
};

std::vector<CommMatrix> odd_matrices(int ranks) {
  std::vector<MatrixEntry> ring, one_way;
  for (int i = 0; i < ranks; ++i) {
    ring.push_back({i, (i + 1) % ranks, 1e3 * (1 + i % 7), 1});
    if (i > 0) one_way.push_back({i, 0, 1e290, 1});
  }
  return {CommMatrix::from_entries(ranks, {}), CommMatrix::from_entries(ranks, ring),
          CommMatrix::from_entries(ranks, one_way),
          CommMatrix::from_entries(ranks, {{0, ranks - 1, 1e-300, 1}})};
}

CommMatrix all_pairs(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    for (int j = 0; j < i; ++j)
      entries.push_back({i, j, 1e3 + static_cast<double>(random() % 100000), 1});
  }
  return CommMatrix::from_entries(ranks, entries);
}

// From one byte to 512 GiB.
CommMatrix all_sizes(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) {
    const int j = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (i != j) entries.push_back({i, j, std::exp2(random() % 40), 1});
  }
  return CommMatrix::from_entries(ranks, entries);
}

// compute_mapping refuses what is not one slot in range for each rank; the rest is checked here.
void check_all(const Case& c) {
  for (const AlgorithmInfo& info : algorithms()) {
    std::string name(info.name);
    if (name == "lama") name += ":hcsbn/oversubscribe";
    const auto mapping = c.map(name);
    INFO(name);
    REQUIRE(mapping.ok());
    CHECK(is_valid(*mapping, c.slots));
    for (const SlotIndex slot : *mapping) CHECK(c.slots[slot.value].pus.is_subset_of(c.usable));
  }
}

struct Shape {
  const char* topology;
  const char* cpuset;
};

constexpr Shape kShapes[] = {{"numa:1 core:4 pu:1", nullptr},
                             {"numa:4 core:4 pu:2", nullptr},
                             {"numa:4 core:4 pu:2", "0-9,17,24-31"},
                             {"package:2 numa:2 l3:2 core:2 pu:2", "1,3-30"}};

std::map<std::string, double> golden() {
  std::map<std::string, double> costs;
  std::ifstream file(test_data() + "/golden.csv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t comma = line.rfind(',');
    costs[line.substr(0, comma)] = std::stod(line.substr(comma + 1));
  }
  return costs;
}

}  // namespace

TEST_CASE("every algorithm on few and many ranks, uneven nodes, several CPUs a rank") {
  for (const Shape& shape : kShapes) {
    for (const int ranks : {1, 2, 7, 33}) {
      for (const int cpus : {1, 3}) {
        for (const CommMatrix& matrix : odd_matrices(ranks)) {
          INFO(shape.topology << " " << ranks << " ranks of " << cpus);
          check_all(Case(shape.topology, matrix, cpus, shape.cpuset));
        }
      }
    }
  }
}

// If a rank needs the CPUs of several nodes, its slot belongs to the first of them and the others
// have none.
TEST_CASE("ranks that span NUMA nodes") {
  struct Wide {
    const char* topology;
    int cpus;
    const char* cpuset;
  };
  for (const Wide& wide :
       {Wide{"numa:3 core:6 pu:1", 3, "0-7,12"}, Wide{"package:2 numa:4 core:8 pu:1", 16, nullptr},
        Wide{"package:2 numa:4 core:8 pu:1", 10, nullptr},
        Wide{"numa:8 core:2 pu:1", 3, nullptr}}) {
    for (const int ranks : {2, 3, 4, 5}) {
      for (unsigned seed = 1; seed <= 8; ++seed) {
        INFO(wide.topology << " " << ranks << " ranks of " << wide.cpus << ", seed " << seed);
        Case c(wide.topology, all_pairs(ranks, seed), wide.cpus, wide.cpuset);
        check_all(c);
        const Mapping best = *c.map("coordinated");
        for (const char* start : {"packed", "scatter", "random", "balance", "locality", "ondeloc"})
          CHECK(c.cost(best) <= c.cost(*c.map(start)) * (1 + 1e-9));
        c.previous = best;
        CHECK(*c.map("coordinated") == best);
      }
    }
  }
}

// Light ranks beside heavy ones: what a step of theirs changes is about what counts as no change.
TEST_CASE("coordinated ends where bytes are of all sizes") {
  for (const int ranks : {33, 48, 64}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      INFO(ranks << " ranks, seed " << seed);
      const Case c("numa:4 core:32 pu:1", all_sizes(ranks, seed));
      const Mapping mapping = *c.map("coordinated");
      for (const char* start : {"packed", "scatter", "random", "balance", "locality", "ondeloc"})
        CHECK(c.cost(mapping) <= c.cost(*c.map(start)) * (1 + 1e-9));
    }
  }
}

TEST_CASE("4096 ranks") {
  for (const CommMatrix& matrix : odd_matrices(4096)) {
    const Case c("numa:8 core:512 pu:1", matrix);
    for (const char* name : {"coordinated", "locality", "ondeloc", "balance"}) {
      INFO(name);
      CHECK(c.map(name).ok());
    }
  }
}

TEST_CASE("recorded programs on recorded machines cost what they did, coordinated no more",
          "[costs]") {
  const auto costs = golden();
  REQUIRE(costs.size() > 100);
  for (const auto& [key, cost] : costs) {
    std::istringstream words(key);
    std::string topology, program, algorithm;
    std::getline(words, topology, ',');
    std::getline(words, program, ',');
    std::getline(words, algorithm);
    const Case c(fmt::format("{}/topologies/{}.xml", test_data(), topology),
                 *read_matrix(fmt::format("{}/npb/{}/bytes.mat", test_data(), program)));
    const double now = evaluate(c.model, c.slots, c.traffic, *c.map(algorithm)).total;
    INFO(key);
    CHECK(c.cost(*c.map("coordinated")) <= now * (1 + 1e-9));
    CHECK(now <= cost * 1.001);
    if (algorithm != "coordinated" && algorithm != "locality") CHECK(now >= cost * 0.999);
  }
}

}  // namespace shapes_test
