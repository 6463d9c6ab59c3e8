// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/pick_adapter.h"

#include <algorithm>
#include <climits>

namespace ondeloc {
namespace {

using Units = std::vector<std::size_t>;

bool is_active(const Device& unit) { return unit.state == LinkState::kActive; }

Units active_units(const AdapterRequest& request) {
  Units active;
  for (std::size_t i = 0; i < request.units.size(); ++i)
    if (is_active(request.units[i])) active.push_back(i);
  return active;
}

Units units_on(const AdapterRequest& request, const Units& among) {
  Units found;
  for (const std::size_t unit : among)
    if (request.node >= 0 && request.units[unit].node == request.node) found.push_back(unit);
  return found;
}

int distance_to(const AdapterRequest& request, const Device& unit) {
  if (unit.node < 0) return INT_MAX;  // unknown: last
  const auto node = static_cast<std::size_t>(unit.node);
  return node < request.distances.size() ? request.distances[node] : 0;
}

Units nearest(const AdapterRequest& request, const Units& among) {
  Units found;
  int least = INT_MAX;
  for (const std::size_t unit : among) {
    const int distance = distance_to(request, request.units[unit]);
    if (distance < least) found.clear();
    if (distance <= least) found.push_back(unit);
    least = std::min(least, distance);
  }
  return found;
}

std::size_t spread(const Units& over, int number) {
  return over[static_cast<std::size_t>(std::max(0, number)) % over.size()];
}

}  // namespace

std::optional<std::size_t> select_adapter(const AdapterRequest& request) {
  if (request.chosen_by_user) return request.chosen_by_user;
  const Units active = active_units(request);
  if (active.empty()) return std::nullopt;
  if (active.size() == 1) return active.front();
  if (const Units local = units_on(request, active); !local.empty())
    return spread(local, request.index);
  return spread(nearest(request, active), request.number);
}

std::vector<std::size_t> select_rails(const AdapterRequest& request, bool on_node) {
  const Units active = active_units(request);
  return on_node ? units_on(request, active) : active;
}

}  // namespace ondeloc
