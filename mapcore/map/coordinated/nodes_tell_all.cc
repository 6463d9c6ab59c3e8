// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/nodes_tell_all.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

bool are_in_proportion(const CostModel& model, int ranks) {
  const double message_bytes = model.message_bytes(ranks);
  for (std::size_t at = 0; at < model.byte_cost.size(); ++at) {
    const double bytes = model.byte_factor(ranks) * model.byte_cost[at] * message_bytes;
    const double messages = model.message_factor(ranks) * model.message_cost[at];
    if (std::abs(messages - bytes) > tuning::kProportion * std::max(messages, bytes)) return false;
  }
  return true;
}

}  // namespace

bool nodes_tell_all(const MapRequest& request) {
  const CostModel& model = request.model;
  if (model.llcs != model.nodes || !model.port.empty() || model.knows_ranks) return false;
  if (model.adapters.count(request.off_node)) return false;
  const auto pairs = static_cast<std::size_t>(model.nodes * (model.nodes - 1) / 2);
  if (model.link_capacity.size() != pairs) return false;
  const Traffic& raw = *request.raw;
  if (model.weight == Weight::kBytes || raw.total_messages() == 0)
    return !model.byte_cost_is_shared;
  if (model.weight == Weight::kTime && !are_in_proportion(model, raw.ranks())) return false;
  std::map<std::pair<int, int>, int> cores, l2s;
  for (const Slot& slot : request.slots) {
    if (slot.seat.core >= 0 && ++cores[{slot.seat.llc.value, slot.seat.core}] > 1) return false;
    if (slot.seat.l2 >= 0 && ++l2s[{slot.seat.llc.value, slot.seat.l2}] > 1 &&
        model.message_cost_inside[1] != model.message_cost_inside[2])
      return false;
  }
  return true;
}

}  // namespace ondeloc::coordinated
