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

constexpr auto kAlgorithms = std::to_array<AlgorithmInfo>({
    {"identity", "", "keep the present mapping", "null object", map_identity, check_no_argument},
    {"packed", "", "neighbouring ranks together, node after node", "DeLoc thesis, section 2.3.3",
     map_packed, check_no_argument},
    {"scatter", "", "ranks round-robin over the NUMA nodes", "DeLoc thesis, section 2.3.3",
     map_scatter, check_no_argument},
    {"random", "[:seed]", "shuffled; the default seed is 1", "DeLoc thesis, section 2.3.3",
     map_random, check_seed},
    {"ondeloc", "[:literal]",
     "OnDeLocMap+: heavy pairs stay together on a node they were on, else round-robin",
     "Agung et al. 2020, Algorithm 1", map_ondeloc, check_ondeloc},
});

std::string known_names() {
  std::string names;
  for (const AlgorithmInfo& info : kAlgorithms)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  return names;
}

}  // namespace

std::span<const AlgorithmInfo> algorithms() { return kAlgorithms; }

Result<const AlgorithmInfo*> find_algorithm(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  for (const AlgorithmInfo& info : kAlgorithms) {
    if (info.name != name) continue;
    if (Status good = info.check(colon == spec.npos ? "" : spec.substr(colon + 1)); !good) {
      return std::move(good).error().within(fmt::format("algorithm '{}'", name));
    }
    return &info;
  }
  return Error(
      fmt::format("algorithm '{}' is not known: use one of {}", shorten(name), known_names()));
}

Result<Mapping> compute_mapping(std::string_view spec, const MapRequest& request) {
  auto info = find_algorithm(spec);
  if (!info) return std::move(info).error();
  const std::size_t colon = spec.find(':');
  auto mapping = (*info)->map(request, colon == spec.npos ? "" : spec.substr(colon + 1));
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
