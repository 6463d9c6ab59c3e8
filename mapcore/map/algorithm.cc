// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"

namespace ondeloc {
namespace {

struct Function {
  std::string_view name;
  MapFunction map;
};

constexpr auto kFunctions = std::to_array<Function>({
    {"identity", map_identity},
    {"packed", map_packed},
    {"scatter", map_scatter},
    {"random", map_random},
    {"ondeloc", map_ondeloc},
    {"deloc", map_deloc},
    {"coordinated", map_coordinated},
});

// A row without a function does not compile: std::find_if would give end(), which is no constant.
consteval auto join() {
  std::array<AlgorithmInfo, kAlgorithmRows.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    static_cast<AlgorithmRow&>(table[i]) = kAlgorithmRows[i];
    table[i].map = std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) {
                     return f.name == kAlgorithmRows[i].name;
                   })->map;
  }
  return table;
}

static_assert(kFunctions.size() == kAlgorithmRows.size());
constexpr auto kAlgorithms = join();

}  // namespace

std::span<const AlgorithmInfo> algorithms() { return kAlgorithms; }

Result<const AlgorithmInfo*> find_algorithm(std::string_view spec) {
  auto row = find_algorithm_row(spec);
  if (!row) return std::move(row).error();
  return &kAlgorithms[static_cast<std::size_t>(*row - kAlgorithmRows.data())];
}

Result<Mapping> compute_mapping(std::string_view spec, const MapRequest& request) {
  auto info = find_algorithm(spec);
  if (!info) return std::move(info).error();
  auto mapping = (*info)->map(request, split_algorithm(spec).argument);
  if (!mapping) return mapping;
  if (mapping->size() != static_cast<std::size_t>(request.traffic.ranks()) ||
      !is_valid(*mapping, request.slots)) {
    return Error(fmt::format("algorithm '{}' gave an invalid mapping; please report this", spec));
  }
  return mapping;
}

std::vector<SlotIndex> slots_by_node(const MapRequest& request) {
  auto key = [&](SlotIndex index) {
    const Slot& slot = request.slots[static_cast<std::size_t>(index.value)];
    const Pu* pu = request.machine.find(PuOs(slot.pus.first()));
    return std::tuple(slot.node.value, pu == nullptr ? CpuSet::kMaxCpu : pu->logical.value,
                      index.value);
  };
  std::vector<SlotIndex> order;
  for (std::size_t s = 0; s < request.slots.size(); ++s) order.emplace_back(static_cast<int>(s));
  std::sort(order.begin(), order.end(), [&](SlotIndex a, SlotIndex b) { return key(a) < key(b); });
  return order;
}

}  // namespace ondeloc
