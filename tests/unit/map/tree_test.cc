// SPDX-License-Identifier: Apache-2.0
// Cost and mappings on machines whose NUMA nodes have several last-level caches.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>

#include "mapcore/map/coordinated/tree_state.h"
#include "mapcore/map/coordinated/tree_valuation.h"
#include "tests/unit/catch.h"
#include "tests/unit/map/case.h"
#include "tests/unit/map/drawn.h"
#include "tests/unit/map/starts.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace tree_test {
namespace {

constexpr const char* kEpyc = "numa:1 l3:8 core:8 pu:1";

CommMatrix chain(int ranks) {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i + 1 < ranks; ++i) entries.push_back({i, i + 1, 8e3, 1e3});
  return CommMatrix::from_entries(ranks, entries);
}

double least_of_all(const Case& c) {
  Mapping mapping;
  for (int i = 0; i < c.traffic.ranks(); ++i) mapping.emplace_back(i);
  double best = 1e300;
  do {
    best = std::min(best, c.cost(mapping).total);
  } while (std::next_permutation(mapping.begin(), mapping.end()));
  return best;
}

}  // namespace

TEST_CASE("mappings on one node with eight caches do not cost the same") {
  const Case c(kEpyc, chain(64));
  const double packed = c.cost(c.map("packed")).total;
  CHECK(packed < 0.9 * c.cost(c.map("random")).total);
  Mapping cyclic;  // Slurm with l3cache_as_socket: consecutive ranks in different caches
  for (int i = 0; i < 64; ++i) cyclic.emplace_back(i % 8 * 8 + i / 8);
  CHECK(packed < 0.75 * c.cost(cyclic).total);
  CHECK(c.cost(c.map("packed")).locality < 0.5 * c.cost(cyclic).locality);
  CHECK(c.cost(c.map()).total <= packed * (1 + 1e-9));
}

// In blocks of 4 x 4 ranks, those in the corners have two partners outside. In stripes each rank
// has one.
TEST_CASE("a torus comes apart into stripes") {
  constexpr int kRows = 8, kColumns = 16;
  std::vector<MatrixEntry> entries;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const int rank = row * kColumns + column;
      entries.push_back({rank, row * kColumns + (column + 1) % kColumns, 1e5, 1});
      entries.push_back({rank, (row + 1) % kRows * kColumns + column, 1e5, 1});
    }
  }
  const CommMatrix torus = CommMatrix::from_entries(kRows * kColumns, std::move(entries));
  for (const char* machine : {"numa:8 core:16 pu:1", "package:1 numa:1 l3:8 core:16 pu:1"}) {
    const Case c(machine, torus);
    Mapping stripes;
    for (int rank = 0; rank < kRows * kColumns; ++rank)
      stripes.emplace_back(rank % kColumns / 2 * 16 + rank / kColumns * 2 + rank % 2);
    CHECK(c.cost(c.map()).total <= c.cost(stripes).total * (1 + 1e-9));
  }
}

TEST_CASE("the packages of one NUMA node do not cost the same") {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < 4; ++i) entries.push_back({i, i + 4, 1e9, 1e3});
  const Case c("numa:1 package:2 l3:1 core:4 pu:1", CommMatrix::from_entries(8, entries));
  CHECK(CostModel::from(c.machine).weight == Weight::kTime);
  const Mapping found = c.map();
  for (int i = 0; i < 4; ++i)
    CHECK(c.slots[found[i].value].seat.package == c.slots[found[i + 4].value].seat.package);
  CHECK(c.cost(found).total < c.cost(c.map("packed")).total);
  CHECK(c.cost(c.map("packed")).byte_time > 0);
}

TEST_CASE("terms of the cost on a tree, computed by hand") {
  // Two packages, each a node of two caches of two cores; ranks 0 and 1 in one cache.
  const CommMatrix matrix =
      CommMatrix::from_entries(4, {{0, 1, 1000, 10}, {0, 2, 500, 5}, {0, 3, 300, 3}});
  Case c("package:2 numa:1 l3:2 core:2 pu:1", matrix);
  const Mapping mapping{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(4)};
  const Cost cost = c.cost(mapping);
  const double near = 24e-9, other_cache = 108e-9, other_package = 200e-9;
  CHECK(cost.message_time == Approx((5 * (other_cache - near) + 3 * (other_package - near)) / 4));
  // A byte takes the latency of its line over the lines that are under way; T is shared like L.
  const double of_byte = 1.0 / (7 * 64) / 4;
  CHECK(cost.byte_time ==
        Approx((500 * (other_cache - near) + 300 * (other_package - near)) * of_byte));
  CHECK(cost.total == Approx(cost.congestion + cost.busiest + cost.byte_time + cost.message_time));
  // All pairs are those of rank 0; locality is a share of one rank.
  CHECK(cost.busiest_rank == 0);
  CHECK(cost.busiest == Approx(4 * cost.locality));
  CHECK(cost.remote_share.value() == Approx(300.0 / 1800));
  const DomainTraffic split = traffic_by_domain(c.slots, c.traffic, mapping);
  CHECK(split.bytes[static_cast<std::size_t>(Domain::kLlc)] == 1000);
  CHECK(split.bytes[static_cast<std::size_t>(Domain::kNode)] == 500);
  CHECK(split.messages[static_cast<std::size_t>(Domain::kMachine)] == 3);
}

TEST_CASE("a part of a machine has the constants of the whole machine") {
  const Machine whole = *load_machine("package:2 numa:1 l3:8 core:8 pu:1");
  const CostModel of_whole = CostModel::from(whole);
  CostOverrides bandwidth;
  bandwidth.bandwidth = 204.8e9;
  for (const char* cpus : {"0-7,64-71", "0-7,64-79", "0-15"}) {
    INFO(cpus);
    const Machine part = restrict_machine(whole, *CpuSet::parse_list(cpus));
    const CostModel model = CostModel::from(part);
    CHECK(model.latency == of_whole.latency);
    CHECK(model.bandwidth.front() == of_whole.bandwidth.front());
    CHECK(model.bandwidth.back() == of_whole.bandwidth.back());
    CHECK(model.port.front() == of_whole.port.front());
    CHECK(CostModel::from(part, bandwidth).port == model.port);
    // A part of a part, as the mapper's slots are.
    const Machine less = restrict_machine(part, *CpuSet::parse_list("0-3"));
    CHECK(CostModel::from(less).bandwidth.front() == of_whole.bandwidth.front());
  }
}

TEST_CASE("a latency is that of the mean pair of nodes of the whole machine") {
  Machine whole = *load_machine("package:4 numa:1 core:2 pu:1");
  whole.distances = {10, 16, 22, 16, 16, 10, 16, 22, 22, 16, 10, 16, 16, 22, 16, 10};
  const CostModel of_whole = CostModel::from(whole);
  const Machine part = restrict_machine(whole, whole.nodes[0].pus | whole.nodes[1].pus);
  const CostModel model = CostModel::from(part);
  CHECK(model.message_cost[1] == of_whole.message_cost[1]);
  CHECK(of_whole.message_cost[1] < of_whole.message_cost[2]);
}

TEST_CASE("measured latencies count where a shared L2 is the last-level cache") {
  MachineFile file;
  file.domains[static_cast<std::size_t>(Domain::kL2)] = {30e-9, 9e9, 0};
  file.domains[static_cast<std::size_t>(Domain::kPackage)] = {130e-9, 6e9, 0};
  CostOverrides overrides;
  overrides.measured = &file;
  const CostModel model =
      CostModel::from(*load_machine("package:1 numa:4 l2:1 core:12 pu:1"), overrides);
  CHECK(model.latency_source == file.source());
  CHECK(model.byte_source == file.source());
  CHECK(model.distance_source == "default");
  CHECK(model.message_cost[1] == Approx(100e-9));
}

TEST_CASE("weights: messages count without bytes, bytes without messages") {
  const CommMatrix empty = CommMatrix::from_entries(4, {{0, 3, 0, 1e6}, {1, 2, 10, 1}});
  const char* machine = "numa:2 core:2 pu:1";
  const Case time(machine, empty), bytes(machine, empty, Weight::kBytes);
  const Case messages(machine, empty, Weight::kMessages);
  for (const Case* c : {&time, &messages}) {
    const Mapping mapping = c->map();
    CHECK(c->slots[mapping[0].value].node == c->slots[mapping[3].value].node);
  }
  const Mapping apart{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  CHECK(bytes.cost(apart).message_time == 0);
  CHECK(messages.cost(apart).byte_time == 0);
  CHECK(messages.cost(apart).remote_share.value() == 1);
}

TEST_CASE("coordinated finds the optimum of small trees", "[costs]") {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    for (const char* machine :
         {"numa:1 l3:4 core:2 pu:1", "package:2 numa:1 l3:2 core:2 pu:1", "numa:2 core:2 pu:2"}) {
      const Case c(machine, drawn(8, 2, seed, seed % 2 == 0 ? 100 : 1e5));
      INFO(machine << " " << seed);
      CHECK(c.cost(c.map("coordinated:5")).total <= least_of_all(c) * (1 + 1e-9));
    }
  }
}

TEST_CASE("the lower bound of a tree is never above the optimum", "[costs]") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    for (const char* machine :
         {"numa:1 l3:4 core:2 pu:1", "package:2 numa:1 l3:2 core:2 pu:1",
          "package:2 numa:2 l3:2 core:1 pu:1", "package:2 numa:1 l3:3 core:2 pu:1"}) {
      const Case c(machine, drawn(8, 2 + seed % 3, seed, seed % 2 == 0 ? 100 : 1e5));
      const coordinated::TreeTarget target = target_of(c);
      INFO(machine << " " << seed);
      REQUIRE(target.is_exact());
      CHECK(coordinated::least_tree_cost(target) <= least_of_all(c) * (1 + 1e-9));
    }
  }
}

TEST_CASE("the lower bound holds where slots share a core", "[costs]") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    for (const char* machine :
         {"numa:2 core:2 pu:2", "numa:1 l3:2 core:2 pu:2", "numa:2 l3:2 core:1 pu:2",
          "numa:1 l3:2 l2:1 core:2 pu:2", "numa:2 core:1 pu:4"}) {
      const Case c(machine, drawn(8, 1 + seed % 3, seed, seed % 2 == 0 ? 100 : 1e5));
      const coordinated::TreeTarget target = target_of(c);
      const double bound = coordinated::least_tree_cost(target);
      INFO(machine << " " << seed);
      REQUIRE_FALSE(target.is_exact());
      CHECK(bound > 0);
      CHECK(bound <= least_of_all(c) * (1 + 1e-9));
    }
  }
}

TEST_CASE("if pairs of ranks can share their cores, the lower bound is the optimum") {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < 12; ++i) entries.push_back({i, i ^ 1, 1e6, 100});
  for (const char* machine : {"package:3 numa:1 l3:1 core:2 pu:2", "numa:1 l3:3 core:2 pu:2"}) {
    const Case c(machine, CommMatrix::from_entries(12, entries));
    CHECK(coordinated::least_tree_cost(target_of(c)) == Approx(c.cost(c.map("packed")).total));
  }
}

TEST_CASE("a light rank between caches that pull alike comes to rest") {
  // Rank 24 talks to three groups. Its pulls differ by less than the tolerance of costs: a step to
  // the less loaded group costs nothing each time, and the way back from the last gains.
  std::vector<MatrixEntry> entries;
  const double amounts[] = {1e12, 0.9e12, 0.8e12, 0.7e12};
  for (int group = 0; group < 4; ++group)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j)
        if (i != j) entries.push_back({6 * group + i, 6 * group + j, amounts[group] / 30, 0});
  for (int group = 1; group < 4; ++group) {
    const double pull = 1e6 + 9 * (3 - group);
    entries.push_back({24, 6 * group, pull, 0});
    entries.push_back({6 * group, 24, pull, 0});
  }
  const Case c("package:4 numa:1 l3:2 core:8 pu:1", CommMatrix::from_entries(25, entries),
               Weight::kBytes);
  CHECK(c.cost(c.map()).total <= c.cost(c.map("packed")).total);
}

TEST_CASE("if all ranks talk alike to all, the lower bound of a tree is the optimum") {
  for (const char* machine :
       {kEpyc, "package:2 numa:1 l3:4 core:8 pu:1", "package:2 numa:2 l3:2 core:8 pu:1"}) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j) entries.push_back({i, j, 100, 1});
    const Case c(machine, CommMatrix::from_entries(64, entries));
    const coordinated::TreeTarget target = target_of(c);
    CHECK(coordinated::least_tree_cost(target) == Approx(c.cost(c.map("packed")).total));
  }
}

// All exchanges of two ranks: the state has the cost of evaluate() for each, and bounds below it.
void check_exchanges(const Case& c, const Mapping& mapping) {
  const coordinated::TreeTarget target = target_of(c);
  coordinated::Part part;
  for (const SlotIndex slot : mapping) part.push_back(c.slots[slot.value].seat.llc.value);
  coordinated::TreeLoads scratch;
  const double cost = c.cost(mapping).total, any = 1e300;
  CHECK(coordinated::tree_cost(target, part, 2 * cost, scratch) == Approx(cost));
  CHECK(coordinated::tree_cost(target, part, 0.5 * cost, scratch) > 0.5 * cost);
  coordinated::TreeState state(target);
  state.reset(part);
  CHECK(state.value().cost == Approx(cost));
  for (int rank = 0; rank < target.ranks; ++rank) {
    for (int partner = 0; partner < target.ranks; ++partner) {
      const int to = state.part()[partner];
      if (to == state.part()[rank]) continue;
      const auto row = target.row(rank);
      const auto edge = std::find_if(row.begin(), row.end(),
                                     [&](const auto& each) { return each.peer == partner; });
      const auto* shared = edge == row.end() ? nullptr : &*edge;
      const auto bound = state.least_after(rank, partner, to, shared, any);
      const auto value = state.value_after(rank, partner, to, shared);
      Mapping swapped = mapping;
      std::swap(swapped[rank], swapped[partner]);
      REQUIRE(value.cost == Approx(c.cost(swapped).total));
      REQUIRE(bound.cost <= value.cost * (1 + 1e-9));
      REQUIRE(bound.squares == Approx(value.squares));
      const double limit = 0.99 * value.cost;
      REQUIRE(state.value_after(rank, partner, to, shared, limit).cost > limit);
      REQUIRE(state.least_after(rank, partner, to, shared, limit).cost <= value.cost * (1 + 1e-9));
      const auto beside = state.busy().beside(rank, state.part()[rank], to);
      REQUIRE(beside.without(state.busy().near(partner)) <= c.cost(swapped).busiest * (1 + 1e-9));
    }
  }
}

TEST_CASE("the search values partitions as evaluate does") {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Case c("package:2 numa:2 l3:2 core:4 pu:1", drawn(32, 3 + 10 * (seed % 3), seed, 1e4));
    check_exchanges(c, c.map(fmt::format("random:{}", seed).c_str()));
  }
}

TEST_CASE("after moves and exchanges the state has the cost of evaluate") {
  for (const std::string& machine :
       {std::string("package:2 numa:2 l3:2 core:4 pu:1"), std::string("numa:2 l3:16 core:1 pu:1"),
        fmt::format("{}/topologies/16amd64-4distances.xml", test_data())}) {
    const CommMatrix matrix = drawn(machine.ends_with(".xml") ? 16 : 32, 4, 1, 1e4);
    const Case c(machine, matrix);
    const coordinated::TreeTarget target = target_of(c);
    coordinated::Part part;
    for (const SlotIndex slot : c.map("random")) part.push_back(c.slots[slot.value].seat.llc.value);
    coordinated::TreeState state(target);
    state.reset(part);
    coordinated::TreeLoads scratch;
    std::mt19937 random(1);
    INFO(machine);
    for (int turn = 0; turn < 200; ++turn) {
      const int rank = static_cast<int>(random() % static_cast<unsigned>(target.ranks));
      const int partner = static_cast<int>(random() % static_cast<unsigned>(target.ranks));
      if (state.part()[rank] == state.part()[partner]) continue;
      state.swap(rank, partner);
      REQUIRE(coordinated::tree_cost(target, state.part(), 1e300, scratch) ==
              Approx(state.value().cost));
    }
  }
}

TEST_CASE("a hundred caches in a node need no list for each pair of them") {
  const Case c("numa:2 l3:96 core:1 pu:1", chain(192));
  const coordinated::TreeTarget target = target_of(c);
  CHECK(target.kinds == 2);
  CHECK(target.differing.size() == 2 * 192);
}

TEST_CASE("the search knows the busiest rank where some ranks talk to all") {
  for (const int busy : {1, 3, 6}) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < busy; ++i)
      for (int j = 0; j < 32; ++j)
        if (i != j) entries.push_back({i, j, 1000.0 + i + 10 * (j % 3), 1});
    const Case c("package:2 numa:2 l3:2 core:4 pu:1",
                 CommMatrix::from_entries(32, std::move(entries)));
    check_exchanges(c, c.map(fmt::format("random:{}", busy).c_str()));
    const Cost cost = c.cost(c.map());
    CHECK(cost.busiest_rank < busy);
    CHECK(cost.total <= c.cost(c.map("packed")).total);
  }
}

TEST_CASE("on trees coordinated is never worse than its starts and moves nobody for nothing") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    for (const char* machine : {kEpyc, "package:2 numa:2 l3:2 core:4 pu:2"}) {
      Case c(machine, drawn(48, 3, seed, seed % 3 == 0 ? 1e6 : 64));
      if (seed % 2 == 0) c.previous = c.map(fmt::format("random:{}", seed).c_str());
      INFO(machine << " " << seed);
      check_against_starts(c);
    }
  }
}

TEST_CASE("on trees more effort never costs more, and the same request gives the same mapping") {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Case c("package:2 numa:2 l3:2 core:4 pu:1", drawn(32, 4, seed, 1e5));
    double last = 1e300;
    for (const char* algorithm :
         {"coordinated", "coordinated:2", "coordinated:3", "coordinated:8"}) {
      const Mapping mapping = c.map(algorithm);
      const double cost = c.cost(mapping).total;
      INFO(algorithm << " " << seed);
      CHECK(cost <= last * (1 + 1e-9));
      CHECK(c.map(algorithm) == mapping);
      last = cost;
    }
  }
}

TEST_CASE("with a present mapping of many ranks more effort never costs more", "[costs]") {
  constexpr int kRanks = 128;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    std::mt19937 random(seed);
    std::vector<MatrixEntry> entries;
    for (int hub = 0; hub < 5; ++hub)
      for (int i = 0; i < 60; ++i) {
        const int peer = static_cast<int>(random() % kRanks);
        if (peer != hub * 17) entries.push_back({hub * 17, peer, i % 2 == 0 ? 1e5 : 1e4, 0});
      }
    Case c("package:4 numa:1 l3:8 core:4 pu:1", CommMatrix::from_entries(kRanks, entries));
    c.previous = c.map(seed % 2 == 0 ? "packed" : "scatter");
    const double usual = c.cost(c.map("coordinated")).total;
    INFO(seed);
    CHECK(c.cost(c.map("coordinated:2")).total <= usual * (1 + 1e-9));
    CHECK(c.cost(c.map("coordinated:3")).total <= usual * (1 + 1e-9));
  }
}

// The ratio is 9, and was 60 while descents had no limit.
TEST_CASE("rounds of a search end soon where all ranks send almost alike to all", "[costs]") {
  constexpr int kRanks = 192;
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < kRanks; ++i)
    for (int j = 0; j < kRanks; ++j)
      if (i != j) entries.push_back({i, j, 1000.0 + i * j % 97, 1});
  const Case c("package:2 numa:4 l3:8 core:3 pu:1", CommMatrix::from_entries(kRanks, entries));
  const auto time_of = [&](const char* algorithm) {
    const std::clock_t from = std::clock();
    const double cost = c.cost(c.map(algorithm)).total;
    return std::pair(static_cast<double>(std::clock() - from), cost);
  };
  const auto [one, cost_of_one] = time_of("coordinated");
  const auto [ten, cost_of_ten] = time_of("coordinated:10");
  CHECK(ten < 25 * one);
  CHECK(cost_of_ten <= cost_of_one);
}

// Sixteen pairs at drawn ranks, among ranks that send a little to all. Two pairs belong in each
// node. The cost was up to 20 % higher: no single move or swap takes a pair to another node.
TEST_CASE("heavy pairs among ranks that send a little to all are spread over the nodes") {
  constexpr int kRanks = 128, kPairs = 16;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> order(kRanks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < kRanks; ++i)
      for (int j = 0; j < kRanks; ++j)
        if (i != j) entries.push_back({i, j, 1000, 0});
    for (int pair = 0; pair < kPairs; ++pair)
      entries.push_back({order[2 * pair], order[2 * pair + 1], 2e6, 0});
    const CommMatrix matrix = CommMatrix::from_entries(kRanks, std::move(entries));
    for (const char* machine :
         {"package:8 numa:1 l3:4 core:4 pu:1", "package:2 numa:4 l3:4 core:4 pu:1"}) {
      INFO(machine << " " << seed);
      const Case c(machine, matrix);
      CHECK(c.cost(c.map()).total <= c.cost(c.map("deloc")).total * (1 + 1e-9));
    }
  }
}

// Fourteen groups of six drawn ranks, of which two cannot have a cache of their own. No single move
// or swap takes a group to another cache: the cost was up to 48 % higher.
TEST_CASE("groups of ranks have a cache of their own, the heaviest first") {
  constexpr int kRanks = 96, kGroup = 6, kGroups = 14;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    std::vector<int> order(kRanks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<MatrixEntry> entries;
    for (int at = 0; at < kGroup * kGroups; ++at) {
      const double bytes = at / kGroup % 3 == 0 ? 1e6 : 1e5;
      const int first = at / kGroup * kGroup;
      for (int other = first; other < first + kGroup; ++other)
        if (other != at) entries.push_back({order[at], order[other], bytes, 0});
    }
    const Case c("package:2 numa:1 l3:6 core:8 pu:1",
                 CommMatrix::from_entries(kRanks, std::move(entries)));
    INFO(seed);
    CHECK(c.cost(c.map()).total <= c.cost(c.map("coordinated:30")).total * 1.01);
  }
}

// Every rank sends to all others, and more to those of its group of 16. The ratio is 4, and was 21
// while a descent from a present mapping had no limit.
TEST_CASE("a descent from a present mapping ends soon where all ranks send to all", "[costs]") {
  constexpr int kRanks = 192;
  std::mt19937 random(1);
  const auto bytes = [&](bool near) { return near ? 20000.0 + random() % 3000 : 1000.0; };
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < kRanks; ++i)
    for (int j = 0; j < kRanks; ++j)
      if (i != j) entries.push_back({i, j, bytes(i / 16 == j / 16), 0});
  Case c("package:2 numa:2 l3:1 core:48 pu:1", CommMatrix::from_entries(kRanks, entries));
  const auto time_from = [&](const char* algorithm) {
    c.previous = {};
    c.previous = c.map(algorithm);
    const std::clock_t from = std::clock();
    const double cost = c.cost(c.map()).total;
    return std::pair(static_cast<double>(std::clock() - from), cost);
  };
  const auto [from_random, cost_from_random] = time_from("random:3");
  const auto [from_scatter, cost_from_scatter] = time_from("scatter");
  CHECK(from_scatter < 10 * from_random);
  CHECK(cost_from_scatter == Approx(cost_from_random).epsilon(1e-3));
}

TEST_CASE("evaluate does not depend on the numbers of ranks, caches and nodes") {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const CommMatrix matrix = drawn(16, 3, seed, 1e4);
    const Case c("package:2 numa:2 l3:2 core:2 pu:1", matrix);
    const Mapping mapping = c.map("random");
    std::vector<int> name(16);
    std::iota(name.begin(), name.end(), 0);
    std::mt19937 random(seed);
    std::shuffle(name.begin(), name.end(), random);
    std::vector<MatrixEntry> entries;
    for (MatrixEntry entry : matrix.entries)
      entries.push_back({name[entry.src], name[entry.dst], entry.bytes, entry.messages});
    const Case renamed("package:2 numa:2 l3:2 core:2 pu:1",
                       CommMatrix::from_entries(16, std::move(entries)));
    Mapping same(16);
    // The packages change places, and the nodes of each.
    for (int i = 0; i < 16; ++i) same[name[i]] = SlotIndex(mapping[i].value ^ 0b1110);
    CHECK(renamed.cost(same).total == Approx(c.cost(mapping).total).epsilon(1e-12));
  }
}

TEST_CASE("equal cost keeps the order of ranks") {
  for (const char* machine : {kEpyc, "package:2 numa:1 l3:8 core:8 pu:1"}) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j) entries.push_back({i, j, 100, 1});
    const Case c(machine, CommMatrix::from_entries(64, entries));
    const Mapping mapping = c.map(), packed = c.map("packed");
    if (c.cost(packed).total <= c.cost(mapping).total) CHECK(mapping == packed);
  }
}

// A wavefront over a grid of 2 x 4 ranks (tests/lab/programs, lu): rows and columns cost the same
// but for a few messages.
const std::vector<MatrixEntry> kWavefront = {
    {0, 1, 2359296, 2404}, {0, 2, 2359296, 2404}, {0, 4, 0, 4},          {1, 0, 1179656, 2309},
    {1, 3, 2359296, 2404}, {1, 5, 0, 4},          {2, 0, 1179656, 2309}, {2, 3, 2359296, 2404},
    {2, 4, 2359296, 2400}, {2, 6, 0, 4},          {3, 1, 1179656, 2309}, {3, 2, 1179648, 2308},
    {3, 5, 2359296, 2400}, {3, 7, 0, 4},          {4, 0, 0, 4},          {4, 2, 1179656, 2305},
    {4, 5, 2359296, 2404}, {4, 6, 2359296, 2404}, {5, 1, 8, 5},          {5, 3, 1179648, 2304},
    {5, 4, 1179648, 2308}, {5, 7, 2359296, 2404}, {6, 2, 8, 5},          {6, 4, 1179648, 2308},
    {6, 7, 2359296, 2404}, {7, 3, 8, 5},          {7, 5, 1179648, 2308}, {7, 6, 1179648, 2308}};

TEST_CASE("a few messages do not change the order of ranks") {
  for (const char* machine : {"package:2 numa:1 l3:2 core:2 pu:1", "numa:2 core:4 pu:1"}) {
    const Case c(machine, CommMatrix::from_entries(8, kWavefront));
    INFO(machine);
    CHECK(c.map() == c.map("packed"));
  }
  // An eighth of the steps, which send 2400 and 2304 messages, and as many messages at the start.
  std::vector<MatrixEntry> shorter = kWavefront;
  for (MatrixEntry& entry : shorter) {
    if (entry.messages < 10) continue;
    entry.messages -= (entry.bytes > 2e6 ? 2400 : 2304) * 7 / 8;
    entry.bytes /= 8;
  }
  for (const char* machine : {"numa:1 l3:4 core:2 pu:1", "package:2 numa:1 l3:2 core:2 pu:1"}) {
    const Case c(machine, CommMatrix::from_entries(8, shorter));
    INFO(machine);
    CHECK(c.map() == c.map("packed"));
  }
}

// The least ranks of groups of `size` slots.
std::vector<int> least_of_groups(const Mapping& mapping, int size) {
  std::vector<int> least(mapping.size() / static_cast<std::size_t>(size), 1000);
  for (std::size_t i = mapping.size(); i-- > 0;)
    least[static_cast<std::size_t>(mapping[i].value / size)] = static_cast<int>(i);
  return least;
}

TEST_CASE("without a present mapping, alike nodes and caches have their ranks in order") {
  const Case nodes("numa:4 core:2 pu:1", CommMatrix::from_entries(8, kWavefront));
  const std::vector<int> least = least_of_groups(nodes.map(), 2);
  CHECK(std::is_sorted(least.begin(), least.end()));
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const Case c("package:2 numa:1 l3:4 core:2 pu:1", drawn(16, 3, seed, 1e5));
    const Mapping mapping = c.map();
    const auto packages = least_of_groups(mapping, 8), caches = least_of_groups(mapping, 2);
    INFO(seed);
    CHECK(packages[0] < packages[1]);
    CHECK(std::is_sorted(caches.begin(), caches.begin() + 4));
    CHECK(std::is_sorted(caches.begin() + 4, caches.end()));
  }
}

}  // namespace tree_test
