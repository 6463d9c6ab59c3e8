// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/lama_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/slots.h"

namespace ondeloc {
namespace {

// All nodes as one machine whose objects have numbers of their own.
struct Union {
  Machine machine;
  std::vector<NodeThread> threads;  // by number of the PU in `machine`
};

// If a machine lacks a level, the object of the next outer level stands for it.
std::array<int, kLevelCount> whole_path(const Pu& pu) {
  std::array<int, kLevelCount> path = pu.ancestor;
  path[0] = std::max(path[0], 0);
  for (std::size_t level = 1; level < path.size(); ++level)
    if (path[level] < 0) path[level] = path[level - 1];
  return path;
}

void add_node(const Machine& node, int number, Union& all) {
  const int first = static_cast<int>(all.threads.size());
  std::array<int, kLevelCount> base{};
  for (const Pu& pu : all.machine.pus)
    for (std::size_t level = 0; level < base.size(); ++level)
      base[level] = std::max(base[level], pu.ancestor[level] + 1);
  for (const Pu& pu : node.pus) {
    Pu copy{PuOs(static_cast<int>(all.threads.size())),
            PuLogical(static_cast<int>(all.threads.size())), NodeIndex(number), whole_path(pu),
            LlcIndex(number)};
    for (std::size_t level = 1; level < base.size(); ++level) copy.ancestor[level] += base[level];
    copy.ancestor[static_cast<std::size_t>(Level::kMachine)] = number;
    all.machine.pus.push_back(copy);
    all.threads.push_back({number, pu.os});
  }
  NumaNode memory;
  memory.os = number;
  for (int k = first; k < static_cast<int>(all.threads.size()); ++k) memory.pus.set(PuOs(k));
  all.machine.llcs.push_back({Level::kNuma, number, NodeIndex(number), memory.pus, 0});
  all.machine.nodes.push_back(std::move(memory));
}

Union union_of(std::span<const Machine* const> nodes) {
  Union all;
  for (std::size_t k = 0; k < nodes.size(); ++k) add_node(*nodes[k], static_cast<int>(k), all);
  all.machine.source = "nodes";
  all.machine.allowed = all.machine.all_pus();
  return all;
}

SlotSet slot_of_each_thread(const Machine& machine) {
  SlotSet slots;
  for (const Pu& pu : machine.pus) {
    CpuSet one;
    one.set(pu.os);
    slots.push_back(make_slot(machine, one));
  }
  return slots;
}

}  // namespace

Result<std::vector<NodeThread>> lama_over_nodes(std::span<const Machine* const> nodes,
                                                std::string_view layout, int ranks) {
  std::size_t threads = 0;
  for (const Machine* node : nodes) threads += node->pus.size();
  if (threads > static_cast<std::size_t>(CpuSet::kMaxCpu))
    return Error(fmt::format("lama: the nodes have {} hardware threads, and {} is the most",
                             threads, CpuSet::kMaxCpu));
  const Union all = union_of(nodes);
  const SlotSet slots = slot_of_each_thread(all.machine);
  const Traffic silent(CommMatrix::from_entries(ranks, {}));
  const CostModel model;
  const Mapping none;
  const auto mapping =
      compute_mapping("lama:" + std::string(layout), {all.machine, slots, silent, model, none});
  if (!mapping) return mapping.error();
  std::vector<NodeThread> result;
  for (const SlotIndex slot : *mapping)
    result.push_back(all.threads[static_cast<std::size_t>(slots[slot].pus.first())]);
  return result;
}

}  // namespace ondeloc
