// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/tree_valuation.h"

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
    {"balance", map_balance},
    {"locality", map_locality},
    {"ondeloc", map_ondeloc},
    {"deloc", map_deloc},
    {"lama", map_lama},
    {"coordinated", map_coordinated},
});

// A row without a function does not compile: std::find_if would return end(), which a constant
// expression cannot dereference.
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

// The request as a MapFunction gets it.
MapRequest weighed(const MapRequest& request, const std::optional<Traffic>& amounts) {
  const bool bytes_count = request.model.byte_weight() > 0;
  return {
      request.machine, request.slots,    amounts ? *amounts : request.traffic,
      request.model,   request.previous, bytes_count ? request.off_node : std::span<const double>(),
      request.whole,   &request.traffic};
}

}  // namespace

std::span<const AlgorithmInfo> algorithms() { return kAlgorithms; }

Result<const AlgorithmInfo*> find_algorithm(std::string_view spec) {
  auto row = find_algorithm_row(spec);
  if (!row) return std::move(row).error();
  return &kAlgorithms[*row - kAlgorithmRows.data()];
}

Result<Mapping> compute_mapping(std::string_view spec, const MapRequest& request) {
  auto info = find_algorithm(spec);
  if (!info) return std::move(info).error();
  const std::optional<Traffic> amounts = request.model.amounts(request.traffic);
  auto mapping = (*info)->map(weighed(request, amounts), split_algorithm(spec).argument);
  if (!mapping) return mapping;
  if (mapping->size() != static_cast<std::size_t>(request.traffic.ranks()) ||
      !is_valid(*mapping, request.slots)) {
    return Error(fmt::format("algorithm '{}' gave an invalid mapping; please report this", spec));
  }
  return mapping;
}

double least_cost(const MapRequest& request) {
  const std::optional<Traffic> amounts = request.model.amounts(request.traffic);
  return coordinated::least_tree_cost(coordinated::TreeTarget(weighed(request, amounts)));
}

std::vector<SlotIndex> slots_by_node(const MapRequest& request) {
  std::vector<int> logical;  // by OS index
  for (const Pu& pu : request.machine.pus) {
    const auto os = static_cast<std::size_t>(pu.os.value);
    if (logical.size() <= os) logical.resize(os + 1, CpuSet::kMaxCpu);
    logical[os] = pu.logical.value;
  }
  std::vector<std::tuple<int, int, int>> keys;  // node, first PU, slot
  keys.reserve(request.slots.size());
  for (const Slot& slot : request.slots) {
    const int first = slot.pus.first();
    const bool known = first >= 0 && static_cast<std::size_t>(first) < logical.size();
    keys.emplace_back(slot.node.value, known ? logical[first] : CpuSet::kMaxCpu,
                      static_cast<int>(keys.size()));
  }
  if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
  std::vector<SlotIndex> order;
  order.reserve(keys.size());
  for (const auto& key : keys) order.emplace_back(std::get<2>(key));
  return order;
}

}  // namespace ondeloc
