// SPDX-License-Identifier: Apache-2.0
// Tells which network adapters a rank sends through. Adapters are positions in a list of devices.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mapcore/devices/device.h"

namespace ondeloc {

// The active adapters of the fastest kind of the list: the kinds are in the order of their speed,
// Ethernet last. Network libraries take one of these if nobody chooses.
std::vector<std::size_t> usual_adapters(std::span<const Device> devices);

// The adapters that nic= has chosen for a rank, if `nic` (the value of kNicVariable) names some,
// else usual_adapters(). One adapter: the rank surely sends through it.
std::vector<std::size_t> adapters_of_rank(std::string_view nic, std::span<const Device> devices);

}  // namespace ondeloc
