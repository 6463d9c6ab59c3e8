// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/shared_slots.h"

#include <algorithm>
#include <map>

#include "mapcore/map/slots.h"

namespace ondeloc {
namespace {

// Makes n slots from fewer: every PU is used as often as any other, give or take one, and so is
// every node.
SlotSet repeat(const SlotSet& base, std::size_t n) {
  SlotSet slots;
  while (slots.size() + base.size() <= n) slots.insert(slots.end(), base.begin(), base.end());
  std::map<int, std::vector<std::size_t>> by_node;
  for (std::size_t s = 0; s < base.size(); ++s) by_node[base[s].node.value].push_back(s);
  for (std::size_t turn = 0; slots.size() < n; ++turn) {
    for (const auto& [node, places] : by_node) {
      if (turn < places.size() && slots.size() < n) slots.push_back(base[places[turn]]);
    }
  }
  return slots;
}

// PUs from which slots are taken in turn; after the last PU comes the first.
struct Circle {
  std::vector<PuOs> pus;
  int slots = 0;
  std::size_t next = 0;
  // Slots per PU if there were one slot more.
  double next_use() const { return (slots + 1) / static_cast<double>(pus.size()); }
};

// Returns the PUs core by core. Cores with a thread outside `pus` come last, because otherwise the
// slots after them would split cores.
std::vector<PuOs> pus_of_node(const Machine& machine, const CpuSet& pus, NodeIndex node) {
  std::vector<const Pu*> found;
  std::map<int, int> threads;
  for (const Pu& pu : machine.pus) {
    if (pu.node != node || !pus.test(pu.os)) continue;
    found.push_back(&pu);
    ++threads[pu.at(Level::kCore)];
  }
  std::stable_sort(found.begin(), found.end(), [&](const Pu* a, const Pu* b) {
    return threads[a->at(Level::kCore)] > threads[b->at(Level::kCore)];
  });
  std::vector<PuOs> in_order;
  in_order.reserve(found.size());
  for (const Pu* pu : found) in_order.push_back(pu->os);
  return in_order;
}

// Returns a circle for each node that a slot fits into, and a circle for all other nodes together
// if a slot fits there.
std::vector<Circle> circles_of(const Machine& machine, const CpuSet& pus, std::size_t size) {
  std::vector<Circle> circles;
  Circle small;
  for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
    auto of_node = pus_of_node(machine, pus, NodeIndex(static_cast<int>(k)));
    if (of_node.size() >= size)
      circles.push_back({std::move(of_node)});
    else
      small.pus.insert(small.pus.end(), of_node.begin(), of_node.end());
  }
  if (small.pus.size() >= size) circles.push_back(std::move(small));
  return circles;
}

CpuSet take_in_turn(Circle& circle, int size) {
  CpuSet pus;
  for (int i = 0; i < size; ++i) {
    pus.set(circle.pus[circle.next]);
    circle.next = (circle.next + 1) % circle.pus.size();
  }
  return pus;
}

SlotSet slots_in_turn(const Machine& machine, const CpuSet& pus, int count, int size) {
  std::vector<Circle> circles = circles_of(machine, pus, static_cast<std::size_t>(size));
  for (int i = 0; i < count; ++i) {
    ++std::min_element(circles.begin(), circles.end(), [](const Circle& a, const Circle& b) {
        return a.next_use() < b.next_use();
      })->slots;
  }
  SlotSet slots;
  for (Circle& circle : circles) {
    for (int i = 0; i < circle.slots; ++i)
      slots.push_back(make_slot(machine, take_in_turn(circle, size)));
  }
  return slots;
}

int count_pus(const SlotSet& disjoint) {
  int count = 0;
  for (const Slot& slot : disjoint) count += slot.pus.count();
  return count;
}

}  // namespace

SlotSet shared_slots(const Machine& machine, const CpuSet& pus, int count, int cpus_per_task) {
  const auto n = static_cast<std::size_t>(count);
  const SlotSet cut = cut_slots(machine, pus, cpus_per_task, false);
  if (cut.size() >= n || count_pus(cut) == (pus & machine.all_pus()).count()) return repeat(cut, n);
  return slots_in_turn(machine, pus, count, cpus_per_task);
}

bool shares_caches(const Machine& machine, const CpuSet& pus) {
  return machine.nodes.size() == 1 && machine.splits_nodes() &&
         std::all_of(machine.llcs.begin(), machine.llcs.end(), [&](const Llc& llc) {
           const int count = (llc.pus & pus).count();
           return count == 0 || count > 1;
         });
}

namespace {

SlotSet whole_cache_slots(const Machine& machine, const CpuSet& pus, int count) {
  struct Group {
    CpuSet pus;
    int slots = 0;
    double next_use() const { return (slots + 1) / static_cast<double>(pus.count()); }
  };
  std::vector<Group> groups;
  for (const Llc& llc : machine.llcs)
    if (llc.pus.intersects(pus)) groups.push_back({llc.pus & pus});
  for (int i = 0; i < count; ++i)
    ++std::min_element(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.next_use() < b.next_use();
      })->slots;
  SlotSet slots;
  for (const Group& group : groups)
    for (int i = 0; i < group.slots; ++i) slots.push_back(make_slot(machine, group.pus));
  return slots;
}

}  // namespace

SlotSet whole_node_slots(const Machine& machine, const CpuSet& pus, int count) {
  if (shares_caches(machine, pus)) return whole_cache_slots(machine, pus, count);
  SlotSet slots = shared_slots(machine, pus, count, 1);
  for (Slot& slot : slots) slot.pus = machine.nodes[slot.node].pus & pus;
  std::stable_sort(slots.begin(), slots.end(),
                   [](const Slot& a, const Slot& b) { return a.node < b.node; });
  return slots;
}

}  // namespace ondeloc
