// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/sharing_seats.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/map/mapping.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

namespace sharing_seats_test {
using namespace ondeloc;
using Lists = std::vector<std::string>;
using Pairs = std::vector<MatrixEntry>;

namespace {

struct Threads {
  Machine machine;
  std::vector<CpuSet> seats;
  CostModel model = CostModel::from(machine);

  Threads(const char* tree, const Lists& lists) : machine(*load_machine(tree)) {
    for (const std::string& list : lists) seats.push_back(*CpuSet::parse_list(list));
  }
  SharingSeats exchange(Pairs pairs) const {
    const auto threads = static_cast<int>(seats.size());
    return exchange_seats(model, machine, seats,
                          CommMatrix::from_entries(threads, std::move(pairs)));
  }
  Domain between(const SharingSeats& found, std::size_t a, std::size_t b) const {
    return shared_domain(make_slot(machine, found.cpus[a]).seat,
                         make_slot(machine, found.cpus[b]).seat);
  }
};

// Two NUMA nodes with one cache each and four cores.
constexpr const char* kTwoNodes = "numa:2 l3:1 core:4 pu:1";

std::multiset<std::string> sorted(const std::vector<CpuSet>& cpus) {
  std::multiset<std::string> lists;
  for (const CpuSet& each : cpus) lists.insert(each.to_list());
  return lists;
}

}  // namespace

TEST_CASE("partners on two NUMA nodes come together on the CPUs that the threads have") {
  const Threads threads(kTwoNodes, {"0", "1", "4", "5"});
  const SharingSeats found = threads.exchange({{0, 2, 0, 300}, {1, 3, 0, 250}, {0, 1, 0, 9}});
  REQUIRE(found.found == Exchange::kBetter);
  CHECK(threads.between(found, 0, 2) <= Domain::kNode);
  CHECK(threads.between(found, 1, 3) <= Domain::kNode);
  CHECK(threads.between(found, 0, 1) > Domain::kNode);
  CHECK(sorted(found.cpus) == sorted(threads.seats));
}

TEST_CASE("hardware threads of a core go to those who share most, inside one node too") {
  const Threads threads("package:1 numa:1 l3:1 core:2 pu:2", {"0", "1", "2", "3"});
  const SharingSeats found = threads.exchange({{0, 2, 0, 300}, {1, 3, 0, 250}});
  REQUIRE(found.found == Exchange::kBetter);
  CHECK(threads.between(found, 0, 2) == Domain::kCore);
  CHECK(threads.between(found, 1, 3) == Domain::kCore);
}

TEST_CASE("threads that share in a ring are cut twice, not four times") {
  const Threads threads(kTwoNodes, {"0", "4", "1", "5", "2", "6", "3", "7"});
  Pairs ring;
  for (int i = 0; i < 8; ++i)
    ring.push_back({std::min(i, (i + 1) % 8), std::max(i, (i + 1) % 8), 0, 100});
  const SharingSeats found = threads.exchange(ring);
  REQUIRE(found.found == Exchange::kBetter);
  int apart = 0;
  for (std::size_t i = 0; i < 8; ++i)
    apart += threads.between(found, i, (i + 1) % 8) > Domain::kNode;
  CHECK(apart == 2);
}

TEST_CASE("threads stay if they are in order, or if all share with all") {
  const Threads threads(kTwoNodes, {"0", "1", "4", "5"});
  CHECK(threads.exchange({{0, 1, 0, 300}, {2, 3, 0, 250}}).found == Exchange::kInOrder);
  Pairs all;
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j) all.push_back({i, j, 0, 100.0 + 9 * ((i + j) % 3)});
  CHECK(threads.exchange(all).found == Exchange::kInOrder);
  CHECK(threads.exchange(all).cpus.empty());
}

TEST_CASE("too few shared faults tell nothing") {
  const Threads threads(kTwoNodes, {"0", "1", "4", "5"});
  CHECK(threads.exchange({}).found == Exchange::kTooFew);
  CHECK(threads.exchange({{0, 2, 0, 100}, {1, 3, 0, 100}}).found == Exchange::kTooFew);
}

TEST_CASE("on seats that are equally near the order does not matter") {
  const Threads one_cache(kTwoNodes, {"0", "1", "2", "3"});
  CHECK_FALSE(order_matters(one_cache.model, one_cache.machine, one_cache.seats));
  CHECK(one_cache.exchange({{0, 2, 0, 1e4}}).found == Exchange::kAlike);
  const Threads two(kTwoNodes, {"0", "4"});
  CHECK_FALSE(order_matters(two.model, two.machine, two.seats));
  const Threads four(kTwoNodes, {"0", "1", "4", "5"});
  CHECK(order_matters(four.model, four.machine, four.seats));
}

}  // namespace sharing_seats_test
