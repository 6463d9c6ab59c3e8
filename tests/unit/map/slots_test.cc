// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/slots.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "mapcore/map/shared_slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

CpuSet cpus(const char* list) { return *CpuSet::parse_list(list); }

std::vector<std::string> lists(const SlotSet& slots) {
  std::vector<std::string> out;
  for (const Slot& slot : slots) out.push_back(slot.pus.to_list());
  return out;
}

using Lists = std::vector<std::string>;

}  // namespace

TEST_CASE("disjoint masks are the slots") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const std::vector<CpuSet> masks = {cpus("0"), cpus("2"), cpus("1"), cpus("3")};
  auto plan = plan_slots(machine, {masks, 1, {}});
  REQUIRE(plan.ok());
  CHECK(lists(plan->slots) == Lists{"0", "2", "1", "3"});
  CHECK(plan->slots[1].node.value == 1);
  CHECK(!plan->shared);
  CHECK(!plan->oversubscribed);
}

TEST_CASE("a shared mask is cut: whole cores first, inside one node") {
  const Machine machine = *load_machine("numa:2 core:2 pu:2");
  const std::vector<CpuSet> four(4, cpus("0-7"));
  CHECK(lists(plan_slots(machine, {four, 1, {}})->slots) == Lists{"0-1", "2-3", "4-5", "6-7"});
  const std::vector<CpuSet> eight(8, cpus("0-7"));
  CHECK(plan_slots(machine, {eight, 1, {}})->slots.size() == 8);
  const std::vector<CpuSet> part(2, cpus("2-3,5-7"));
  // CPU 5 alone is what is left of a core: complete cores come first.
  CHECK(lists(plan_slots(machine, {part, 2, {}})->slots) == Lists{"2-3", "6-7"});
}

TEST_CASE("ranks that were bound to nothing keep all CPUs and all nodes") {
  const auto plan_for = [](const char* topology, int ranks, int cpus_per_task) {
    const Machine machine = *load_machine(topology);
    const std::vector<CpuSet> masks(static_cast<std::size_t>(ranks), machine.allowed);
    return *plan_slots(machine, {masks, cpus_per_task, {}});
  };
  const auto used = [](const SlotPlan& plan) {
    Lists lists;
    for (const SlotIndex slot : plan.initial) lists.push_back(plan.slots[slot.value].pus.to_list());
    return lists;
  };
  CHECK(used(plan_for("numa:2 core:4 pu:1", 4, 1)) == Lists{"0-1", "2-3", "4-5", "6-7"});
  CHECK(used(plan_for("numa:2 core:4 pu:1", 2, 1)) == Lists{"0-3", "4-7"});
  CHECK(used(plan_for("numa:2 core:4 pu:1", 1, 1)) == Lists{"0-7"});
  // No slot over two nodes; the one to spare is in the node that has fewer ranks.
  CHECK(used(plan_for("numa:2 core:4 pu:1", 3, 1)) == Lists{"0-1", "2-3", "4-5"});
  CHECK(used(plan_for("numa:4 core:8 pu:1", 5, 4)) ==
        Lists{"0-3", "4-7", "12-15", "16-19", "24-27"});
  CHECK(used(plan_for("numa:2 core:2 pu:2", 2, 1)) == Lists{"0-3", "4-7"});
  // Fewer ranks than nodes: half of the machine would lie idle.
  CHECK(used(plan_for("numa:4 core:4 pu:1", 2, 1)) == Lists{"0-7", "8-15"});
  CHECK(used(plan_for("numa:4 core:4 pu:1", 5, 1)) ==
        Lists{"0-2", "4-6", "8-10", "12-14", "3,7,11"});
  // If the user asks for two CPUs, they lie inside a node.
  CHECK(used(plan_for("numa:4 core:4 pu:1", 2, 2)) == Lists{"0-3", "8-11"});
}

TEST_CASE("masks of different widths are not to be exchanged where ranks would lose CPUs") {
  const Machine machine = *load_machine("numa:2 core:8 pu:1");
  const auto is_uneven = [&](const std::vector<CpuSet>& masks) {
    return plan_slots(machine, {masks, 1, {}})->uneven;
  };
  CHECK(is_uneven({cpus("0"), cpus("1-6"), cpus("8"), cpus("9-14")}));
  CHECK(is_uneven({cpus("0,2,4,6"), cpus("0"), cpus("2"), cpus("4")}));  // one bound to nothing
  CHECK(!is_uneven({cpus("0-1"), cpus("8-9")}));
  CHECK(!is_uneven({cpus("0-2"), cpus("0-2"), cpus("8")}));  // --cpu-bind=ldoms on uneven nodes
  CHECK(is_uneven({cpus("0-3"), cpus("0-3"), cpus("8")}));   // half of four is more than one
  CHECK(is_uneven({cpus("0-2"), cpus("2-3"), cpus("8-9")}));
  CHECK(!is_uneven({cpus("0-1"), cpus("1-2"), cpus("2-3")}));
}

TEST_CASE("a slot of idle CPUs is as wide as the part that each rank has of shared ones") {
  const Machine machine = *load_machine("numa:2 core:8 pu:1");
  const std::vector<CpuSet> masks{cpus("0-3"), cpus("0-3"), cpus("4-7"), cpus("4-7")};
  const auto plan = plan_slots(machine, {masks, 1, cpus("8-12")});
  REQUIRE(plan.ok());
  CHECK(lists(plan->slots) == Lists{"0-3", "0-3", "4-7", "4-7", "8-9", "10-11"});
  // -c4 --cpu-bind=map_cpu:0,8
  const std::vector<CpuSet> narrow{cpus("0"), cpus("8")};
  const auto bound = plan_slots(machine, {narrow, 4, cpus("1-2,9")});
  REQUIRE(bound.ok());
  CHECK(lists(bound->slots) == Lists{"0", "8", "1", "2", "9"});
}

TEST_CASE("idle PUs are those of cores without a rank, as many threads of each as ranks use") {
  const Machine machine = *load_machine("numa:2 core:2 pu:2");
  const auto idle = [&](const char* used, const char* allowed) {
    return idle_pus(machine, cpus(used), cpus(allowed)).to_list();
  };
  CHECK(idle("0-1", "0-7") == "2-7");
  CHECK(idle("0", "0-7") == "2,4,6");  // --threads-per-core=1
  CHECK(idle("0,2", "0-7") == "4,6");  // the siblings 1 and 3 stay idle
  CHECK(idle("0-2", "0-7") == "4-7");  // three ranks of one thread
  CHECK(idle("0", "0-3,5") == "2,5");  // nothing outside `allowed`
  CHECK(idle("0", "").empty());
  CHECK(idle_pus(*load_machine("numa:2 core:2 pu:1"), cpus("0"), cpus("0-3")).to_list() == "1-3");
}

TEST_CASE("more ranks than PUs: each has all CPUs of its node, never one CPU that it shares") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const std::vector<CpuSet> masks(7, cpus("0-3"));
  auto plan = plan_slots(machine, {masks, 1, {}});
  REQUIRE(plan.ok());
  CHECK(plan->oversubscribed);
  CHECK(lists(plan->slots) == Lists{"0-1", "0-1", "0-1", "0-1", "2-3", "2-3", "2-3"});
  // The masks of srun -O --cpu-bind=cores. The ranks differ in the number of their CPUs.
  const std::vector<CpuSet> single{cpus("0"), cpus("1"), cpus("3"), cpus("0"), cpus("1")};
  plan = plan_slots(machine, {single, 1, {}});
  REQUIRE(plan.ok());
  CHECK(plan->oversubscribed);
  CHECK(lists(plan->slots) == Lists{"0-1", "0-1", "3", "0-1", "0-1"});
  // Slots of a computed mapping are not widened.
  CHECK(lists(plan_slots(machine, {single, 1, {}, true})->slots) == Lists{"0", "1", "3", "0", "1"});
}

TEST_CASE("more ranks than PUs on one node: nobody is bound") {
  const Machine machine = *load_machine("core:2 pu:1");
  const std::vector<CpuSet> masks(3, cpus("0-1"));
  CHECK(lists(plan_slots(machine, {masks, 1, {}})->slots) == Lists{"0-1", "0-1", "0-1"});
  const std::vector<CpuSet> single{cpus("0"), cpus("1"), cpus("0")};
  CHECK(lists(plan_slots(machine, {single, 1, {}})->slots) == Lists{"0", "1", "0"});
}

TEST_CASE("ranks beyond the last full round are in all nodes alike") {
  const Machine machine = *load_machine("numa:4 core:4 pu:1");
  std::vector<int> ranks(4);
  for (const Slot& slot : slots_for(machine, machine.allowed, 22, 1)) ++ranks[slot.node.value];
  CHECK(ranks == std::vector<int>{6, 6, 5, 5});
}

TEST_CASE("ranks that share keep the width that they asked for") {
  const Machine machine = *load_machine("core:4 pu:1");
  CHECK(lists(shared_slots(machine, machine.allowed, 3, 2)) == Lists{"0-1", "2-3", "0-1"});
  CHECK(lists(shared_slots(machine, machine.allowed, 2, 3)) == Lists{"0-2", "0-1,3"});
}

TEST_CASE("wide ranks that share leave no CPU idle") {
  const auto shared = [](const char* topology, const char* usable, int ranks, int width) {
    return lists(shared_slots(*load_machine(topology), cpus(usable), ranks, width));
  };
  CHECK(shared("numa:1 core:16 pu:1", "0-15", 3, 6) == Lists{"0-5", "6-11", "0-1,12-15"});
  // A slot lies inside a node if one is wide enough, else over several nodes.
  CHECK(shared("numa:2 core:12 pu:1", "0-23", 3, 10) == Lists{"0-9", "0-7,10-11", "12-21"});
  CHECK(shared("numa:2 core:12 pu:1", "0-23", 3, 16) == Lists{"0-15", "0-7,16-23", "8-23"});
  CHECK(shared("numa:3 core:4 pu:1", "0-3,4-5,8-9", 3, 3) == Lists{"0-2", "0-1,3", "4-5,8"});
  // A larger node makes up for a node that is short of CPUs.
  CHECK(shared("numa:2 core:8 pu:1", "0-7,8-10", 4, 3) == Lists{"0-2", "3-5", "0,6-7", "8-10"});
  // Half a core comes last, so that others stay whole.
  CHECK(shared("numa:1 core:4 pu:2", "0,2-7", 4, 2) == Lists{"2-3", "4-5", "6-7", "0,2"});
}

namespace {

// Returns the largest number of slots on a PU minus the smallest.
int spread(const SlotSet& slots, const CpuSet& pus) {
  std::vector<int> uses;
  for (const PuOs pu : pus.to_vector())
    uses.push_back(static_cast<int>(std::count_if(
        slots.begin(), slots.end(), [&](const Slot& slot) { return slot.pus.test(pu); })));
  const auto [least, most] = std::minmax_element(uses.begin(), uses.end());
  return *most - *least;
}

void check_shared(const Machine& machine, int ranks, int width) {
  const SlotSet slots = shared_slots(machine, machine.allowed, ranks, width);
  CAPTURE(machine.source, ranks, width, lists(slots));
  CHECK(slots.size() == static_cast<std::size_t>(ranks));
  for (const Slot& slot : slots) CHECK(slot.pus.count() == width);
  if (machine.nodes[0].pus.count() < width) {
    CHECK(spread(slots, machine.allowed) <= 1);
    return;
  }
  for (const Slot& slot : slots) CHECK(slot.pus.is_subset_of(machine.nodes[slot.node.value].pus));
  for (const NumaNode& node : machine.nodes) CHECK(spread(slots, node.pus) <= 1);
}

}  // namespace

TEST_CASE("wide ranks that share are inside nodes, and no CPU is used twice more than another") {
  for (const char* shape : {"numa:1 core:16 pu:1", "numa:3 core:4 pu:2", "numa:4 core:5 pu:1"}) {
    const Machine machine = *load_machine(shape);
    const int all = machine.allowed.count();
    for (int width = 2; width <= all; ++width) {
      if (all % width == 0) continue;  // cut without a rest
      for (int ranks = all / width + 1; ranks < 12; ++ranks) check_shared(machine, ranks, width);
    }
  }
}

TEST_CASE("ranks that asked for more than there is are inside nodes where that costs little") {
  const Machine machine = *load_machine("numa:2 core:12 pu:1");
  const std::vector<CpuSet> masks(3, machine.allowed);
  CHECK(lists(plan_slots(machine, {masks, 10, {}})->slots) == Lists{"0-5", "6-11", "12-17"});
  // Each rank gets as many CPUs as it asked for, over two nodes if necessary.
  CHECK(lists(plan_slots(machine, {masks, 8, {}})->slots) == Lists{"0-7", "12-19", "8-11,20-23"});
}

TEST_CASE("overlapping masks stay a multiset") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const std::vector<CpuSet> masks = {cpus("0-3"), cpus("4-7"), cpus("0-3"), cpus("4-7")};
  auto plan = plan_slots(machine, {masks, 1, {}});
  REQUIRE(plan.ok());
  CHECK(lists(plan->slots) == Lists{"0-3", "4-7", "0-3", "4-7"});
  CHECK(!plan->oversubscribed);
}

TEST_CASE("idle CPUs become further slots of the same size") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const std::vector<CpuSet> masks = {cpus("0-1"), cpus("2-3")};
  auto plan = plan_slots(machine, {masks, 2, cpus("4-7")});
  REQUIRE(plan.ok());
  CHECK(lists(plan->slots) == Lists{"0-1", "2-3", "4-5", "6-7"});
}

TEST_CASE("a mask outside the topology is an error that names the rank") {
  const Machine machine = *load_machine("numa:1 core:2 pu:1");
  const std::vector<CpuSet> masks = {cpus("0"), cpus("7")};
  auto plan = plan_slots(machine, {masks, 1, {}});
  REQUIRE(!plan.ok());
  CHECK(plan.error().message().find("local rank 1") != std::string::npos);
}

TEST_CASE("no rank has half a core where there are complete ones for all, in its node") {
  const Machine one = *load_machine("numa:1 core:3 pu:2"),
                two = *load_machine("numa:2 core:2 pu:2");
  CHECK(lists(slots_for(one, cpus("0,2-5"), 2, 1)) == Lists{"2-3", "4-5"});
  CHECK(lists(slots_for(one, cpus("0,2-5"), 3, 1)) == Lists{"2-3", "4-5", "0"});
  // A node of such cores alone stays in use.
  CHECK(lists(slots_for(two, cpus("0-3,4,6"), 2, 1)) == Lists{"0-1", "2-3", "4", "6"});
}

TEST_CASE("no ranks have no slots") {
  const Machine machine = *load_machine("numa:1 core:2 pu:1");
  CHECK(slots_for(machine, machine.allowed, 0, 1).empty());
}

TEST_CASE("no core has two ranks beside one that has none") {
  for (const char* shape : {"numa:2 core:8 pu:2", "numa:1 core:3 pu:4"}) {
    const Machine machine = *load_machine(shape);
    std::map<int, int> cores;
    for (const Pu& pu : machine.pus) cores[pu.at(Level::kCore)] = 0;
    const int threads = static_cast<int>(machine.pus.size()), all = static_cast<int>(cores.size());
    for (int ranks = all; ranks <= threads; ++ranks) {
      std::map<int, int> of_core = cores, of_node;
      for (const Slot& slot : slots_for(machine, machine.all_pus(), ranks, 1)) {
        ++of_core[machine.find(PuOs(slot.pus.first()))->at(Level::kCore)];
        ++of_node[slot.node.value];
      }
      CAPTURE(shape, ranks);
      const auto [least, most] = std::minmax_element(
          of_core.begin(), of_core.end(), [](auto& a, auto& b) { return a.second < b.second; });
      CHECK(most->second - least->second <= 1);
      CHECK(std::abs(of_node.begin()->second - of_node.rbegin()->second) <= 1);
    }
  }
}

TEST_CASE("further slots are no wider than those that the ranks have") {
  const Machine machine = *load_machine("numa:2 core:2 pu:2");
  const std::vector<CpuSet> masks = {cpus("0"), cpus("2")};
  CHECK(lists(plan_slots(machine, {masks, 1, cpus("4-7")})->slots) == Lists{"0", "2", "4", "6"});
}

TEST_CASE("one mask of a mapping is where the ranks were put, of a step it is nobody's") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  const std::vector<CpuSet> masks(2, cpus("0-1")), wide(2, cpus("0-7"));
  CHECK(plan_slots(machine, {masks, 1, {}})->shared);
  const auto bound = *plan_slots(machine, {masks, 1, {}, true});
  CHECK(!bound.shared);
  CHECK(lists(bound.slots) == Lists{"0-1", "0-1"});
  CHECK(plan_slots(machine, {wide, 1, {}, true})->shared);
}

namespace slots_on_caches_test {
namespace {

constexpr const char* kTwoEpycs = "package:2 numa:1 l3:8 core:8 pu:1";

int caches_used(const ondeloc::Machine& machine, const ondeloc::SlotSet& slots) {
  std::vector<char> used(machine.llcs.size());
  for (const ondeloc::Slot& slot : slots) used[slot.seat.llc.value] = 1;
  return static_cast<int>(std::count(used.begin(), used.end(), 1));
}

int across_nodes(const ondeloc::Machine& machine, const ondeloc::SlotSet& slots) {
  return static_cast<int>(std::count_if(slots.begin(), slots.end(), [&](const auto& slot) {
    return !slot.pus.is_subset_of(machine.nodes[slot.node].pus);
  }));
}

}  // namespace

TEST_CASE("ranks with several CPUs do not straddle a cache if all fit") {
  const ondeloc::Machine machine = *ondeloc::load_machine(kTwoEpycs);
  for (const int cpus : {2, 3, 4, 5, 6, 7, 8}) {
    const int ranks = 16 * (8 / cpus);
    const auto slots = ondeloc::slots_for(machine, machine.allowed, ranks, cpus);
    INFO(cpus);
    REQUIRE(static_cast<int>(slots.size()) >= ranks);
    CHECK(ondeloc::count_straddling(machine, slots) == 0);
    for (const auto& slot : slots) CHECK(slot.pus.count() == cpus);
    // One rank more than fits inside the caches: only the leftovers straddle.
    if (8 % cpus == 0 || (ranks + 1) * cpus > 128) continue;
    const auto more = ondeloc::slots_for(machine, machine.allowed, ranks + 1, cpus);
    REQUIRE(static_cast<int>(more.size()) >= ranks + 1);
    CHECK(ondeloc::count_straddling(machine, more) == static_cast<int>(more.size()) - ranks);
  }
}

TEST_CASE("only the ranks that do not fit into a cache straddle caches, only those cross sockets") {
  const ondeloc::Machine machine = *ondeloc::load_machine(kTwoEpycs);
  // With 5 CPUs each, 16 ranks fit into the caches, 8 more into the sockets, and one across.
  for (int ranks = 17; ranks <= 25; ++ranks) {
    INFO(ranks);
    const auto slots = ondeloc::slots_for(machine, machine.allowed, ranks, 5);
    REQUIRE(static_cast<int>(slots.size()) == ranks);
    CHECK(ondeloc::count_straddling(machine, slots) == ranks - 16);
    CHECK(across_nodes(machine, slots) == std::max(0, ranks - 24));
  }
  const auto threes = ondeloc::slots_for(machine, machine.allowed, 33, 3);
  CHECK(ondeloc::count_straddling(machine, threes) == 1);
}

TEST_CASE("fewer ranks than CPUs spread over the caches") {
  const ondeloc::Machine machine = *ondeloc::load_machine(kTwoEpycs);
  for (const int ranks : {2, 16, 32, 48}) {
    const auto all = ondeloc::slots_for(machine, machine.allowed, ranks, 1);
    const auto slots = ondeloc::spread_slots(all, ranks);
    CHECK(static_cast<int>(slots.size()) == ranks);
    CHECK(caches_used(machine, slots) == std::min(ranks, 16));
  }
}

TEST_CASE("fewer ranks than CPUs in one mask spread as in the command line") {
  const ondeloc::Machine machine = *ondeloc::load_machine(kTwoEpycs);
  for (const int ranks : {16, 32, 48}) {
    INFO(ranks);
    const std::vector<ondeloc::CpuSet> masks(static_cast<std::size_t>(ranks), machine.allowed);
    const auto plan = ondeloc::plan_slots(machine, {masks, 1, {}});
    REQUIRE(plan.ok());
    CHECK(static_cast<int>(plan->slots.size()) == ranks);
    CHECK(caches_used(machine, plan->slots) == 16);
    // The widest that fit, unlike those of the command line, but in the same caches.
    const auto planned =
        ondeloc::spread_slots(ondeloc::slots_for(machine, machine.allowed, ranks, 1), ranks);
    std::map<int, int> mapper, command;
    for (const auto& slot : plan->slots) ++mapper[slot.seat.llc.value];
    for (const auto& slot : planned) ++command[slot.seat.llc.value];
    CHECK(mapper == command);
  }
}

TEST_CASE("ranks that outnumber the CPUs of one node get the CPUs of a cache each") {
  const ondeloc::Machine machine = *ondeloc::load_machine("numa:1 l3:4 core:2 pu:1");
  const std::vector<ondeloc::CpuSet> masks(10, machine.allowed);
  const auto plan = ondeloc::plan_slots(machine, {masks, 1, {}});
  REQUIRE(plan.ok());
  CHECK(plan->oversubscribed);
  std::map<std::string, int> ranks_of;
  for (const auto& slot : plan->slots) {
    ++ranks_of[slot.pus.to_list()];
    CHECK(slot.seat.core == -1);  // they share a cache, not a core
  }
  CHECK(ranks_of == std::map<std::string, int>{{"0-1", 3}, {"2-3", 3}, {"4-5", 2}, {"6-7", 2}});
  // Caches of one CPU: a rank would be bound to a CPU that it shares.
  const ondeloc::Machine small = *ondeloc::load_machine("numa:1 l3:4 core:1 pu:1");
  const std::vector<ondeloc::CpuSet> all(6, small.allowed);
  const auto kept = ondeloc::plan_slots(small, {all, 1, {}});
  REQUIRE(kept.ok());
  for (const auto& slot : kept->slots) CHECK(slot.pus.to_list() == "0-3");
}

TEST_CASE("a shared mask is cut inside caches") {
  const ondeloc::Machine machine = *ondeloc::load_machine("numa:1 l3:8 core:8 pu:1");
  for (const int ranks : {6, 7, 8, 16}) {
    const std::vector<ondeloc::CpuSet> masks(static_cast<std::size_t>(ranks), machine.allowed);
    const auto plan = ondeloc::plan_slots(machine, {masks, 1, {}});
    REQUIRE(plan.ok());
    INFO(ranks);
    CHECK(ondeloc::count_straddling(plan->machine, plan->slots) == 0);
  }
}

}  // namespace slots_on_caches_test
