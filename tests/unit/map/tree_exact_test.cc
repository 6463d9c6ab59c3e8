// SPDX-License-Identifier: Apache-2.0
// The cheapest partition of few ranks, against all partitions.
#include "mapcore/map/coordinated/tree_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "mapcore/map/coordinated/tree_alike.h"
#include "mapcore/map/coordinated/tree_valuation.h"
#include "tests/unit/catch.h"
#include "tests/unit/map/adapters.h"
#include "tests/unit/map/case.h"
#include "tests/unit/map/drawn.h"

using namespace ondeloc;

namespace tree_exact_test {
namespace {

constexpr const char* kTwoNodes = "package:2 numa:1 l3:2 core:2 pu:1";
constexpr double kAnyCost = 1e300;
constexpr std::int64_t kEnough = 1'000'000;

CommMatrix drawn(int ranks, int degree, unsigned seed) {
  return ondeloc::drawn(ranks, degree, seed, seed % 2 == 0 ? 100 : 1e5);
}

CommMatrix ring(int ranks) {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i) entries.push_back({i, (i + 1) % ranks, 1e6, 100});
  return CommMatrix::from_entries(ranks, entries);
}

// Keeps all CPUs as slots, though there are fewer ranks.
Case with_room(const char* machine, const CommMatrix& matrix, const char* cpus) {
  Case c(machine, matrix);
  c.slots = cut_slots(c.machine, *CpuSet::parse_list(cpus), 1, false);
  return c;
}

coordinated::Part packed(const coordinated::TreeTarget& target) {
  coordinated::Part part;
  for (int llc = 0; llc < target.llcs; ++llc)
    for (int slot = 0; slot < target.capacity[llc]; ++slot)
      if (part.size() < static_cast<std::size_t>(target.ranks)) part.push_back(llc);
  return part;
}

double cost_of(const coordinated::TreeTarget& target, const coordinated::Part& part) {
  coordinated::TreeLoads scratch;
  return coordinated::tree_cost(target, part, kAnyCost, scratch);
}

// The least cost of all partitions that agree with `part` on the ranks before `rank`.
double least_of_all(const coordinated::TreeTarget& target, coordinated::Part& part,
                    std::vector<int>& room, std::size_t rank = 0) {
  if (rank == part.size()) return cost_of(target, part);
  double least = kAnyCost;
  for (int llc = 0; llc < target.llcs; ++llc) {
    if (room[llc] == 0) continue;
    --room[llc];
    part[rank] = llc;
    least = std::min(least, least_of_all(target, part, room, rank + 1));
    ++room[llc];
  }
  return least;
}

void check_cheapest(const coordinated::TreeTarget& target, const coordinated::Part& start) {
  const coordinated::Cheapest found = coordinated::cheapest_part(target, start, kEnough);
  CHECK(found.is_proven);
  coordinated::Part part = start;
  std::vector<int> room = target.capacity;
  CHECK(cost_of(target, found.part) == Approx(least_of_all(target, part, room)).epsilon(1e-9));
  // The result is as cheap as can be, so that it stays.
  CHECK(coordinated::cheapest_part(target, found.part, kEnough).part == found.part);
}

coordinated::Part shuffled(coordinated::Part part, unsigned seed) {
  std::mt19937 random(seed);
  std::shuffle(part.begin(), part.end(), random);
  return part;
}

}  // namespace

TEST_CASE("no partition of few ranks costs less than the one found", "[costs]") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const char* machine :
         {"numa:1 l3:4 core:2 pu:1", kTwoNodes, "package:2 numa:2 l3:2 core:1 pu:1",
          "numa:4 core:2 pu:1", "numa:2 core:4 pu:1", "package:2 numa:1 l3:4 core:1 pu:1"}) {
      const Case c(machine, drawn(8, 1 + seed % 4, seed));
      const coordinated::TreeTarget target = target_of(c);
      INFO(machine << " " << seed);
      REQUIRE(target.is_exact());
      check_cheapest(target, packed(target));
      check_cheapest(target, shuffled(packed(target), seed));
    }
  }
}

TEST_CASE("no partition costs less where caches have room, or differ in their slots") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const char* cpus : {"0-7", "0-2,4-7", "0,2-5,7", "1-6"}) {
      const Case c = with_room(kTwoNodes, drawn(6, 2, seed), cpus);
      const coordinated::TreeTarget target = target_of(c);
      INFO(cpus << " " << seed);
      check_cheapest(target, shuffled(packed(target), seed));
    }
  }
}

TEST_CASE("no partition costs less where ranks send through adapters") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Case c(kTwoNodes, drawn(8, 2, seed));
    give(c, {adapter_on(static_cast<int>(seed % 2))});
    for (unsigned i = 0; i < 8; ++i) c.off_node.push_back(i % 3 == seed % 3 ? 1e7 * (i + 1) : 0);
    const coordinated::TreeTarget target = target_of(c);
    REQUIRE_FALSE(target.way_cost.empty());
    INFO(seed);
    check_cheapest(target, packed(target));
  }
}

TEST_CASE("a partition that cannot be improved stays") {
  const Case c(kTwoNodes, ring(8));
  const coordinated::TreeTarget target = target_of(c);
  for (const coordinated::Part& start :
       {coordinated::Part{0, 0, 1, 1, 2, 2, 3, 3}, coordinated::Part{3, 2, 2, 0, 0, 1, 1, 3}})
    CHECK(coordinated::cheapest_part(target, start, kEnough).part == start);
}

TEST_CASE("with little work the result is not proven, and costs no more than the start") {
  const Case c(kTwoNodes, drawn(8, 3, 1));
  const coordinated::TreeTarget target = target_of(c);
  const coordinated::Part start = shuffled(packed(target), 1);
  for (const std::int64_t work : {1, 2, 10, 30}) {
    const coordinated::Cheapest found = coordinated::cheapest_part(target, start, work);
    INFO(work);
    CHECK_FALSE(found.is_proven);
    CHECK(cost_of(target, found.part) <= cost_of(target, start));
  }
}

TEST_CASE("empty caches are alike as far as no cost tells them apart") {
  const Case c(kTwoNodes, ring(8));
  const coordinated::AlikeCaches alike(target_of(c));
  CHECK(alike.in_node(1) == 0);
  CHECK(alike.in_node(3) == 2);
  for (int llc = 0; llc < 4; ++llc) CHECK(alike.anywhere(llc) == 0);
}

TEST_CASE("caches with other numbers of slots, and nodes of such caches, are not alike") {
  const Case c = with_room(kTwoNodes, ring(6), "0,1,2,4-7");
  const coordinated::AlikeCaches alike(target_of(c));
  CHECK(alike.in_node(1) == 1);
  CHECK(alike.in_node(3) == 2);
  CHECK(alike.anywhere(2) == 2);
  CHECK(alike.anywhere(3) == 2);
}

TEST_CASE("coordinated leaves few ranks at the least cost, from any present mapping") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Case c(kTwoNodes, drawn(8, 2, seed));
    const coordinated::TreeTarget target = target_of(c);
    c.previous = c.map(fmt::format("random:{}", seed).c_str());
    coordinated::Part part = packed(target);
    std::vector<int> room = target.capacity;
    CHECK(c.cost(c.map()).total <= least_of_all(target, part, room) * (1 + 1e-6));
  }
}

TEST_CASE("more effort never costs more where the work for a proof does not suffice") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    for (const int ranks : {12, 16}) {
      Case c("package:2 numa:2 l3:2 core:2 pu:1", drawn(ranks, 5, seed));
      c.previous = c.map("random");
      double last = kAnyCost;
      for (const char* algorithm : {"coordinated", "coordinated:2", "coordinated:6"}) {
        const double cost = c.cost(c.map(algorithm)).total;
        INFO(algorithm << " " << ranks << " " << seed);
        CHECK(cost <= last * (1 + 1e-9));
        last = cost;
      }
    }
  }
}

}  // namespace tree_exact_test
