// SPDX-License-Identifier: Apache-2.0
// Picks the network adapter that a rank sends through: Algorithms 1 and 2 of R. B. Ganapathi, A.
// Gopalakrishnan and R. W. McGuire, "MPI Process and Network Device Affinitization for Optimal HPC
// Application Performance". Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mapcore/devices/device.h"

namespace ondeloc {

struct AdapterRequest {
  std::span<const Device> units;  // of one kind, that reach each other
  std::optional<std::size_t> chosen_by_user;
  int node = -1;   // NUMA node of the rank; -1: unknown
  int index = 0;   // number of the rank among the ranks of its NUMA node, from 0
  int number = 0;  // number of the rank on the compute node, from 0
  // Distance from the rank's node to each NUMA node, by the kernel's numbers; empty: all alike.
  std::vector<int> distances = {};
};

// Algorithm 1: the user's unit; else the only active unit; else the active units on the rank's
// node, over which the ranks of that node are spread evenly; else the nearest remote unit, over
// which the ranks are spread if there are several. Empty if no unit is active. (As printed, the
// algorithm returns unit 0 if one unit is active; that unit may have another number.)
std::optional<std::size_t> select_adapter(const AdapterRequest& request);

// Algorithm 2: all active units, or with `on_node` those on the rank's node. Empty if there are
// none: the rank then has to do without rails.
std::vector<std::size_t> select_rails(const AdapterRequest& request, bool on_node);

}  // namespace ondeloc
