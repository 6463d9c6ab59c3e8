// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/allowed.h"

#include <algorithm>
#include <random>
#include <string>

#include "mapcore/map/slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

Mapping mapping_of(std::initializer_list<int> slots) {
  Mapping mapping;
  for (const int slot : slots) mapping.push_back(SlotIndex(slot));
  return mapping;
}

std::string text_of(const Mapping& mapping) {
  std::string text;
  for (const SlotIndex slot : mapping) text += std::to_string(slot.value) + " ";
  return text;
}

AllowedCpus allowed_of(std::initializer_list<const char*> lists) {
  AllowedCpus allowed;
  for (const char* list : lists) allowed.push_back(*CpuSet::parse_list(list));
  return allowed;
}

SlotSet one_cpu_slots(const Machine& machine) {
  return cut_slots(machine, machine.all_pus(), 1, false);
}

}  // namespace

TEST_CASE("a mapping that breaks no constraint is left alone") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const SlotSet slots = one_cpu_slots(machine);
  const Mapping current = mapping_of({0, 1, 2, 3}), wanted = mapping_of({1, 0, 3, 2});
  CHECK(keep_allowed(wanted, current, slots, {}) == wanted);
  CHECK(keep_allowed(wanted, current, slots, allowed_of({"0-1", "", "2-3", ""})) == wanted);
}

TEST_CASE("a rank that uses a GPU stays on its node, and the others give way") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const SlotSet slots = one_cpu_slots(machine);
  const Mapping current = mapping_of({0, 1, 2, 3});
  // Ranks 0 and 3 are to be together on node 0, but rank 3 has its GPU on node 1.
  const Mapping kept =
      keep_allowed(mapping_of({0, 2, 3, 1}), current, slots, allowed_of({"", "", "", "2-3"}));
  CHECK(slots[kept[LocalRank(3)]].node.value == 1);
  CHECK(kept[LocalRank(0)] == SlotIndex(0));
  CHECK(is_valid(kept, slots));
}

TEST_CASE("a rank away from its GPU comes near it if there is room, else it stays") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const SlotSet slots = one_cpu_slots(machine);
  const Mapping current = mapping_of({0, 1, 2, 3});
  const Mapping nearer = keep_allowed(current, current, slots, allowed_of({"2-3", "", "", ""}));
  CHECK(slots[nearer[LocalRank(0)]].node.value == 1);
  CHECK(count_outside(nearer, slots, allowed_of({"2-3", "", "", ""})) == 0);
  const AllowedCpus full = allowed_of({"2-3", "", "2-3", "2-3"});
  CHECK(keep_allowed(current, current, slots, full) == current);
  CHECK(count_outside(current, slots, full) == 1);
}

// Without a table of the slots that each rank may take, this takes some thirty seconds.
TEST_CASE("a large node whose ranks all use a GPU far from where they are wanted") {
  const Machine machine = *load_machine("package:2 numa:4 l3:6 core:8 pu:2");
  const SlotSet slots = one_cpu_slots(machine);
  REQUIRE(slots.size() == 768);
  Mapping current, wanted;
  AllowedCpus allowed;
  for (int rank = 0; rank < 768; ++rank) {
    current.push_back(SlotIndex(rank));
    wanted.push_back(SlotIndex((rank + 96) % 768));
    allowed.push_back(machine.nodes[slots[current.back()].node].pus);
  }
  const Mapping kept = keep_allowed(wanted, current, slots, allowed);
  CHECK(count_outside(kept, slots, allowed) == 0);
  CHECK(is_valid(kept, slots));
}

TEST_CASE("whatever is wanted, no rank leaves its allowed CPUs, and the result is valid") {
  std::mt19937 random(1);
  const Machine machine = *load_machine("package:2 numa:2 core:4 pu:1");
  const SlotSet slots = one_cpu_slots(machine);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> order(slots.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const int ranks = 1 + static_cast<int>(random() % slots.size());
    Mapping current, wanted;
    AllowedCpus allowed;
    std::shuffle(order.begin(), order.end(), random);
    for (int i = 0; i < ranks; ++i) current.push_back(SlotIndex(order[i]));
    std::shuffle(order.begin(), order.end(), random);
    for (int i = 0; i < ranks; ++i) wanted.push_back(SlotIndex(order[i]));
    for (int i = 0; i < ranks; ++i)
      allowed.push_back(random() % 2 == 0 ? CpuSet() : machine.nodes[random() % 4].pus);
    const Mapping kept = keep_allowed(wanted, current, slots, allowed);
    INFO(text_of(current) << "-> " << text_of(wanted) << "= " << text_of(kept));
    CHECK(is_valid(kept, slots));
    for (const LocalRank rank : kept.ids()) {
      const bool inside = is_allowed(allowed, rank, slots[kept[rank]]);
      CHECK((inside || kept[rank] == current[rank]));
      if (is_allowed(allowed, rank, slots[current[rank]])) CHECK(inside);
    }
    CHECK(count_outside(kept, slots, allowed) <= count_outside(current, slots, allowed));
  }
}
