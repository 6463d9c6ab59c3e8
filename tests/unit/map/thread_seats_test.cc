// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/thread_seats.h"

#include "mapcore/map/mapping.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

namespace thread_seats_test {
using namespace ondeloc;
using Lists = std::vector<std::string>;

namespace {

// Two NUMA nodes of two caches of two cores of two hardware threads: CPUs 0 to 15 in that order.
struct Seating {
  Machine machine = *load_machine("package:1 numa:2 l3:2 core:2 pu:2");
  CostModel model = CostModel::from(machine);

  static CpuSet cpus(const char* list) { return *CpuSet::parse_list(list); }
  Seat seat(const char* list) const { return make_slot(machine, cpus(list)).seat; }

  // The CPUs of each thread; empty if there is no room.
  Lists seats(const char* slot, const std::vector<int>& last,
              const std::vector<Peer>& peers = {}) const {
    std::vector<PuOs> ran;
    for (const int cpu : last) ran.emplace_back(cpu);
    const auto found = seat_threads(model, machine, cpus(slot), ran, peers, 3);
    Lists lists;
    if (!found) return lists;
    for (const CpuSet& each : *found) lists.push_back(each.to_list());
    return lists;
  }
};

}  // namespace

TEST_CASE("a thread has a core, or a hardware thread if there are more threads than cores") {
  const Seating s;
  CHECK(s.seats("0-7", {3, 3, 3, 3}) == Lists{"0-1", "2-3", "4-5", "6-7"});
  CHECK(s.seats("0-3", {1, 1, 1}) == Lists{"0", "1", "2"});
  CHECK(s.seats("0,2,4,6", {0, 2, 4, 6}) == Lists{"0", "2", "4", "6"});
  CHECK(s.seats("0-3", {0, 1, 2, 3, 0}).empty());
}

TEST_CASE("threads follow in the cache of the first one, then in its node") {
  const Seating s;
  const std::vector<Peer> right = {{s.seat("8-11"), 1e6, 1e3}};
  CHECK(s.seats("8-15", {8, 8, 8, 8}, right) == Lists{"8-9", "10-11", "12-13", "14-15"});
  const std::vector<Peer> last = {{s.seat("14-15"), 1e6, 1e3}};
  CHECK(s.seats("8-15", {8, 8, 8}, last) == Lists{"14-15", "12-13", "8-9"});
}

TEST_CASE("the first thread sits nearest to the peers that its rank talks to most") {
  const Seating s;
  const auto first = [&](double to_low, double to_high) {
    // The slot has the first core of each cache; the peers have the second cores.
    return s.seats("0,4", {0, 0}, {{s.seat("2"), to_low, 1}, {s.seat("6"), to_high, 1}}).front();
  };
  CHECK(first(1e6, 1e3) == "0");
  CHECK(first(1e3, 1e6) == "4");
}

TEST_CASE("a thread stays on the NUMA node on which it ran, while there is a seat") {
  const Seating s;
  CHECK(s.seats("4-11", {8, 4, 9, 5}) == Lists{"8-9", "4-5", "10-11", "6-7"});
  // Three threads ran on a node with two seats: the last one goes to the other node.
  CHECK(s.seats("4-11", {8, 9, 10, 5}) == Lists{"8-9", "10-11", "6-7", "4-5"});
  // Nearness to peers does not take the first thread away from its node.
  CHECK(s.seats("4-11", {8, 4}, {{s.seat("0-3"), 1e9, 1}}) == Lists{"8-9", "4-5"});
  CHECK(s.seats("4-11", {-1, -1}) == Lists{"4-5", "6-7"});
}

}  // namespace thread_seats_test
