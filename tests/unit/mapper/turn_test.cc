// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/turn.h"

#include "mapcore/binding/memory.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/mapper/waiting_ranks.h"

using namespace ondeloc;

namespace {

// Two pairs, each on two NUMA nodes.
CounterDelta two_pairs() {
  CounterDelta delta;
  delta.matrix.ranks = 4;
  delta.matrix.entries = {{0, 2, 1e9, 100}, {1, 3, 1e9, 100}};
  delta.off_node.resize(4);
  return delta;
}

}  // namespace

TEST_CASE("a turn that moves nobody asks for nobody's memory") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kFollow, true);
  REQUIRE(placement);
  REQUIRE(placement->memory_follows());
  const Options options = *parse_options("online,algorithm=identity");
  Turn turn(options, machine, *placement, ranks);
  bool remapped = true;
  CHECK(reads_in([&] { remapped = turn.take(two_pairs(), 0.5).remapped; }) == 0);
  CHECK(!remapped);
}

TEST_CASE("ranks with CPUs of their own in different numbers stay, and the report says why") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{0x1}, {0xe}, {0x10}, {0xe0}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  CHECK(placement->keeps_bindings());
  CHECK(placement->notes().size() == 1);
  const Options options = *parse_options("online,decide=always");
  Turn turn(options, machine, *placement, ranks);
  const ReportInterval line = turn.take(two_pairs(), 0.5);
  CHECK(!line.remapped);
  CHECK(line.remote_share_before == 1.0);
}

TEST_CASE("ranks that nobody binds are said to be mapped as they would be") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{0xf}, {0xf}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  CHECK(placement->notes().empty());
  placement->keep_bindings();
  REQUIRE(placement->notes().size() == 1);
  CHECK(placement->notes().begin()->find("are not bound and stay so") != std::string::npos);
}

TEST_CASE("memory fits where as much leaves a node as comes to it") {
  if (!room_on_node(0)) {
    WARN("this kernel has no NUMA");
    return;
  }
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const WaitingRanks waiting({{1}, {2}, {4}, {8}});
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  const auto placement = Placement::plan(machine, ranks, 1, Memory::kFollow, true);
  REQUIRE(placement);
  Mapping swapped = placement->current();
  std::swap(swapped[1], swapped[2]);
  constexpr double kTooMuch = 1e16;
  CHECK(placement->pages_fit(swapped, std::vector<double>{0, kTooMuch, kTooMuch, 0}));
  CHECK_FALSE(placement->pages_fit(swapped, std::vector<double>{0, 0, kTooMuch, 0}));
  CHECK(placement->pages_fit(swapped, std::vector<double>()));
  CHECK(placement->pages_fit(placement->current(), std::vector<double>(4, kTooMuch)));
}
