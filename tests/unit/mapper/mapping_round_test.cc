// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/mapping_round.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "mapcore/binding/memory.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"

using namespace ondeloc;

namespace {

// Two pairs, each on two NUMA nodes.
CounterDelta two_pairs() {
  CounterDelta delta;
  delta.traffic = Traffic(CommMatrix::from_entries(4, {{0, 2, 1e9, 100}, {1, 3, 1e9, 100}}));
  delta.off_node.resize(4);
  return delta;
}

}  // namespace

TEST_CASE("an interval that moves no rank asks for no rank's memory") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kFollow, true);
  REQUIRE(placement);
  REQUIRE(placement->memory_follows());
  const Options options = *parse_options("online,algorithm=identity");
  MappingRound turn(options, machine, *placement, ranks);
  bool remapped = true;
  CHECK(reads_in([&] { remapped = turn.run(two_pairs(), 0.5).remapped; }) == 0);
  CHECK(!remapped);
}

TEST_CASE("the levels of the traffic are counted before and after a remap") {
  // One NUMA node with two caches: NUMA knows no difference, the levels do.
  const Machine machine = *load_machine("package:1 numa:1 l3:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online,decide=always,verbose");
  MappingRound turn(options, machine, *placement, ranks);
  const ReportInterval first = turn.run(two_pairs(), 0.5), second = turn.run(two_pairs(), 0.5);
  REQUIRE(first.remapped);
  REQUIRE(first.domains.size() == 2);
  CHECK(first.domains[0].domain == "llc");
  CHECK(first.domains[0].bytes_before == 0);
  CHECK(first.domains[0].bytes_after == 2e9);
  CHECK(first.domains[1].domain == "node");
  CHECK(first.domains[1].messages_before == 200);
  CHECK(first.domains[1].messages_after == 0);
  REQUIRE(second.domains.size() == 1);
  CHECK(second.domains[0].bytes_before == 2e9);
  // Both intervals at the start's mapping; the first still ran under it.
  CHECK(turn.levels().before.bytes[static_cast<std::size_t>(Domain::kNode)] == 4e9);
  CHECK(turn.levels().after.bytes[static_cast<std::size_t>(Domain::kNode)] == 2e9);
  CHECK(level_lines(turn.levels()) ==
        std::vector<std::string>{
            "bytes and messages: same LLC 0 -> 50 %, same NUMA node 100 -> 50 %"});
}

TEST_CASE("two packages of one NUMA node are told apart from two NUMA nodes") {
  const Machine machine = *load_machine("numa:2 package:2 l3:1 core:1 pu:1");
  const WaitingRanks waiting({{1}, {4}, {2}, {8}});  // both pairs are on one NUMA node each
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online,decide=never");
  MappingRound turn(options, machine, *placement, ranks);
  const ReportInterval line = turn.run(two_pairs(), 0.5);
  CHECK(line.remote_share_before == 0.0);
  CHECK(turn.levels().after.bytes[static_cast<std::size_t>(Domain::kMachine)] > 0);
  CHECK(share_between_nodes(turn.levels().after) == 0.0);
}

TEST_CASE("a recorded series is applied again, and moves that do not fit the step are left out") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online,repeat=earlier.json");
  MappingRound turn(options, machine, *placement, ranks);
  const auto cpus = [](const char* list) { return *CpuSet::parse_list(list); };
  const std::vector<RecordedTurn> swap{{0.1, {{1, cpus("2")}, {2, cpus("1")}}}};
  const ReportInterval line = turn.repeat(two_pairs(), swap);
  CHECK(line.decision == "repeats");
  CHECK(placement->cpus_of(LocalRank(1)) == cpus("2"));  // in the plan; the host may lack CPU 2
  CHECK(line.remote_share_before == 1.0);
  CHECK(line.remote_share_after == 0.0);
  const auto left_out = [&] {
    const auto notes = placement->notes().texts();
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& note) { return note.starts_with("some moves"); });
  };
  CHECK_FALSE(left_out());
  // Two ranks on one CPU, a CPU that the step lacks, a rank that it lacks.
  for (const RecordedMove& wrong :
       {RecordedMove{0, cpus("3")}, RecordedMove{0, cpus("9")}, RecordedMove{7, cpus("0")}}) {
    const std::vector<RecordedTurn> series{{0.2, {wrong}}};
    const ReportInterval left = turn.repeat(two_pairs(), series);
    CHECK(left.moved.empty());
    CHECK(left.decision == "waits");
  }
  CHECK(left_out());
}

TEST_CASE("weight and machine file reach the model of the step") {
  const Machine machine = *load_machine("package:1 numa:1 l3:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  MachineFile file;
  file.date = "2026-11-24";
  file.host = "n1";
  file.domains[2] = {25e-9, 12e9, 0};
  file.domains[3] = {110e-9, 8e9, 0};
  const Options options = *parse_options("online,weight=messages");
  MappingRound turn(options, machine, *placement, ranks, &file);
  CHECK(turn.model().weight == Weight::kMessages);
  CHECK(turn.model().latency_source == "measured 2026-11-24 on n1");
  CHECK(turn.model().sources().front().second == "messages");
}

TEST_CASE("ranks with CPUs of their own in different numbers stay, and the report says why") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{0x1}, {0xe}, {0x10}, {0xe0}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  CHECK(placement->keeps_bindings());
  CHECK(placement->notes().texts().size() == 1);
  const Options options = *parse_options("online,decide=always");
  MappingRound turn(options, machine, *placement, ranks);
  const ReportInterval line = turn.run(two_pairs(), 0.5);
  CHECK(!line.remapped);
  CHECK(line.remote_share_before == 1.0);
}

TEST_CASE("ranks that are only watched: the decision tells what a move would have gained") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online,decide=never");
  MappingRound turn(options, machine, *placement, ranks);
  placement->keep_bindings();
  (void)turn.run(two_pairs(), 0.0001);
  const ReportInterval line = turn.run(two_pairs(), 0.0001);  // messages take most of that time
  CHECK(line.decision == "watched");
  CHECK(line.gain > 0);
  CHECK(!line.remapped);
  CHECK(line.moved.empty());
}

TEST_CASE("a note says that the numbers of unbound ranks are those of a binding they do not have") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{0xf}, {0xf}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  CHECK(placement->notes().texts().empty());
  placement->keep_bindings();
  REQUIRE(placement->notes().texts().size() == 1);
  CHECK(placement->notes().texts().begin()->find("does not bind them") != std::string::npos);
}

TEST_CASE("the memory of a rank is told in bytes and in small pages") {
  RankMemory memory;
  const FollowingMemory own = memory.of(LocalRank(1), getpid());
  CHECK(own.bytes > 100000);
  CHECK(own.pages * static_cast<double>(sysconf(_SC_PAGESIZE)) <= own.bytes);
  CHECK(reads_in([&] { memory.of(LocalRank(1), getpid()); }) == 0);  // so soon
  CHECK(memory.of(LocalRank(1), -1).bytes == 0);                     // gone
  CHECK(memory.of(LocalRank(0), -1).pages == 0);
}

TEST_CASE("the huge pages of one rank tell those of the others") {
  RankMemory memory;
  FollowingMemory first, second;
  const auto reads_of_first = reads_in([&] { first = memory.of(LocalRank(0), getpid()); });
  const auto reads_of_second = reads_in([&] { second = memory.of(LocalRank(1), getpid()); });
  CHECK(reads_of_second < reads_of_first);
  CHECK(second.pages / second.bytes == Approx(first.pages / first.bytes));
}

TEST_CASE("memory=auto leaves memory behind for a promise of a tenth of the time", "[numa]") {
  if (!room_on_node(0)) ONDELOC_SKIP("this kernel has no NUMA");
  for (const auto& [memory, share, leaves] : {std::tuple(Memory::kAuto, 1.0, true),
                                              {Memory::kAuto, 0.1, false},
                                              {Memory::kLater, 0.1, true},
                                              {Memory::kFollow, 1.0, false}}) {
    const Machine machine = *load_machine("numa:2 core:2 pu:1");
    const WaitingRanks waiting({{1}, {2}, {4}, {8}});
    Ranks ranks(4);
    ranks.refresh(waiting.view());
    auto placement = Placement::plan(machine, ranks, 1, memory, true);
    REQUIRE(placement);
    Options options = *parse_options("online,verbose");
    options.memory = memory;
    MappingRound turn(options, machine, *placement, ranks);
    turn.try_moves();
    CounterDelta sent = two_pairs();
    sent.traffic =
        Traffic(CommMatrix::from_entries(4, {{0, 2, share * 1e9, 100}, {1, 3, share * 1e9, 100}}));
    ReportInterval line;
    for (int i = 0; i < 40 && line.decision != "remaps"; ++i) line = turn.run(sent, 0.5);
    CAPTURE(share, leaves, line.gain);
    CHECK(line.decision == "remaps");
    CHECK((line.gain > 0.05) == (share == 1.0));
    CHECK(placement->memory_follows() != leaves);
  }
}

TEST_CASE("memory fits if as much leaves a node as comes to it", "[numa]") {
  if (!room_on_node(0)) ONDELOC_SKIP("this kernel has no NUMA");
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  const auto placement = Placement::plan(machine, ranks, 1, Memory::kFollow, true);
  REQUIRE(placement);
  Mapping swapped = placement->current();
  std::swap(swapped[1], swapped[2]);
  constexpr FollowingMemory kTooMuch{1e16, 0};
  CHECK(placement->pages_fit(placement->current(), swapped,
                             std::vector<FollowingMemory>{{}, kTooMuch, kTooMuch, {}}));
  CHECK_FALSE(placement->pages_fit(placement->current(), swapped,
                                   std::vector<FollowingMemory>{{}, {}, kTooMuch, {}}));
  CHECK(placement->pages_fit(placement->current(), swapped, std::vector<FollowingMemory>()));
  CHECK(placement->pages_fit(placement->current(), placement->current(),
                             std::vector<FollowingMemory>(4, kTooMuch)));
}

namespace {

Placement plan_shared(const Machine& machine, Ranks& ranks, int count, std::uint64_t mask) {
  const WaitingRanks waiting(
      std::vector<std::vector<std::uint64_t>>(static_cast<std::size_t>(count), {mask}));
  ranks.refresh(waiting.view());
  return *Placement::plan(machine, ranks, 1, Memory::kStay, false);
}

}  // namespace

TEST_CASE("ranks that outnumber the CPUs get all CPUs of a node; with one node no rank is bound") {
  Ranks five(5), three(3);
  Placement two_nodes = plan_shared(*load_machine("numa:2 core:2 pu:1"), five, 5, 0xf);
  CHECK(two_nodes.cpus_of(LocalRank(0)).to_list() == "0-1");
  CHECK(two_nodes.cpus_of(LocalRank(4)).to_list() == "2-3");
  CHECK(two_nodes.awaits_ranks());
  CHECK(two_nodes.notes().texts().contains(
      "oversubscribed: 5 ranks share 4 CPUs; each rank is bound to all of the step's CPUs in a "
      "NUMA node"));
  Placement one_node = plan_shared(*load_machine("core:2 pu:1"), three, 3, 0x3);
  CHECK(!one_node.awaits_ranks());
  CHECK(one_node.notes().texts().contains(
      "oversubscribed: 3 ranks share 2 CPUs; ranks keep the CPUs that Slurm gave them"));
  CHECK(plan_shared(*load_machine("core:1 pu:1"), three, 3, 0x1)
            .notes()
            .texts()
            .contains(
                "oversubscribed: 3 ranks share 1 CPU; ranks keep the CPUs that Slurm gave them"));
}

TEST_CASE("ranks whose bytes leave the node move to the node of their adapter") {
  Machine machine = *load_machine("package:2 numa:1 core:2 pu:1");
  Device adapter{DeviceKind::kInfiniband, "mlx5_0"};
  adapter.node = 1;
  adapter.state = LinkState::kActive;
  machine.devices = {adapter};
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online,decide=always");
  MappingRound turn(options, machine, *placement, ranks);
  CounterDelta delta;
  delta.traffic = Traffic(CommMatrix::from_entries(4, {{0, 1, 1e6, 100}, {2, 3, 1e6, 100}}));
  delta.off_node = {1e9, 1e9, 0, 0};
  turn.use_adapters({0, 0, std::nullopt, std::nullopt});
  const ReportInterval line = turn.run(delta, 0.5);
  CHECK(line.remapped);
  CHECK(line.cost_after < line.cost_before);
  CHECK(placement->current()[LocalRank(0)].value >= 2);
  CHECK(placement->current()[LocalRank(1)].value >= 2);
  CHECK_FALSE(turn.run(delta, 0.5).remapped);
}
