// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/refine.h"

namespace ondeloc {
namespace {
using namespace coordinated;

std::vector<int> nodes_of(const MapRequest& request, const Mapping& mapping) {
  std::vector<int> part;
  part.reserve(mapping.size());
  for (const SlotIndex slot : mapping)
    part.push_back(request.slots[static_cast<std::size_t>(slot.value)].node.value);
  return part;
}
}  // namespace

Result<Mapping> map_coordinated(const MapRequest& request, std::string_view) {
  const int n = request.traffic.ranks();
  std::vector<double> strength;
  for (int i = 0; i < n; ++i) strength.push_back(request.traffic.strength(i));
  const std::vector<int> size(static_cast<std::size_t>(n), 1);
  const Graph graph{n, request.traffic.row_begins(), request.traffic.all_edges(), strength, size};
  const Target target = Target::from(request, strength);
  State state(graph, target);
  Refiner refiner(state);
  std::vector<int> best;
  Value best_value;
  for (const char* start : {"identity", "packed", "scatter", "ondeloc", "random"}) {
    if (start == std::string_view("identity") && request.previous.empty()) continue;
    auto mapping = compute_mapping(start, request);
    if (!mapping) return mapping;
    state.reset(nodes_of(request, *mapping));
    refiner.allow(1000000000);
    refiner.descend();
    if (best.empty() || is_better(state.value(), best_value)) {
      best_value = state.value();
      best.assign(state.part().begin(), state.part().end());
    }
  }
  state.reset(best);
  refiner.allow(20000);
  refiner.iterate(1);
  best.assign(state.part().begin(), state.part().end());
  std::vector<std::vector<SlotIndex>> free(static_cast<std::size_t>(target.nodes));
  auto order = slots_by_node(request);
  std::reverse(order.begin(), order.end());
  for (const SlotIndex slot : order)
    free[static_cast<std::size_t>(request.slots[static_cast<std::size_t>(slot.value)].node.value)]
        .push_back(slot);
  Mapping mapping;
  for (int i = 0; i < n; ++i) {
    auto& f = free[static_cast<std::size_t>(best[static_cast<std::size_t>(i)])];
    mapping.push_back(f.back());
    f.pop_back();
  }
  return mapping;
}
}  // namespace ondeloc
