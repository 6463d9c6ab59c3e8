// SPDX-License-Identifier: Apache-2.0
// identity, packed, scatter, random: the baselines of the DeLoc thesis, section 2.3.3. None of
// these algorithms uses the traffic.
#include <fmt/format.h>

#include <random>

#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"

namespace ondeloc {

// Without a previous mapping, rank i gets slot i.
Result<Mapping> map_identity(const MapRequest& request, std::string_view) {
  if (!request.previous.empty()) return request.previous;
  Mapping mapping;
  for (int i = 0; i < request.traffic.ranks(); ++i) mapping.emplace_back(i);
  return mapping;
}

Result<Mapping> map_packed(const MapRequest& request, std::string_view) {
  Mapping mapping = slots_by_node(request);
  mapping.resize(static_cast<std::size_t>(request.traffic.ranks()));
  return mapping;
}

Result<Mapping> map_scatter(const MapRequest& request, std::string_view) {
  std::vector<std::vector<SlotIndex>> by_node(request.machine.nodes.size());
  for (const SlotIndex slot : slots_by_node(request)) {
    by_node[request.slots[slot.value].node.value].push_back(slot);
  }
  Mapping mapping;
  for (std::size_t turn = 0; mapping.size() < static_cast<std::size_t>(request.traffic.ranks());
       ++turn) {
    for (const auto& slots : by_node) {
      if (turn < slots.size() &&
          mapping.size() < static_cast<std::size_t>(request.traffic.ranks())) {
        mapping.push_back(slots[turn]);
      }
    }
  }
  return mapping;
}

// Shuffles by Fisher and Yates with mt19937_64 and plain modulo: every standard library gives the
// same mapping.
Result<Mapping> map_random(const MapRequest& request, std::string_view argument) {
  std::mt19937_64 random(parse_unsigned(argument).value_or(1));
  Mapping mapping = slots_by_node(request);
  for (std::size_t i = mapping.size(); i > 1; --i) std::swap(mapping[i - 1], mapping[random() % i]);
  mapping.resize(static_cast<std::size_t>(request.traffic.ranks()));
  return mapping;
}

}  // namespace ondeloc
