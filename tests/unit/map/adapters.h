// SPDX-License-Identifier: Apache-2.0
// Network adapters of a case.
#pragma once

#include <utility>
#include <vector>

#include "tests/unit/map/case.h"

namespace ondeloc {

inline Device adapter_on(int node, const char* name = "mlx5_0", double gigabits = 100) {
  Device device{DeviceKind::kInfiniband, name};
  device.node = node;
  device.state = LinkState::kActive;
  device.gigabits = gigabits;
  return device;
}

inline void give(Case& c, std::vector<Device> devices) {
  c.machine.devices = std::move(devices);
  CostOverrides overrides;
  overrides.weight = c.model.weight;
  overrides.adapters = true;
  c.model = CostModel::from(c.machine, overrides);
}

}  // namespace ondeloc
