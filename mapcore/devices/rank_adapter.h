// SPDX-License-Identifier: Apache-2.0
// Tells which network adapters a rank sends through. Adapters are positions in a list of devices.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/devices/device.h"
#include "mapcore/devices/process_environment.h"

namespace ondeloc {

// The active adapters of the fastest kind of the list: the kinds are in the order of their speed,
// Ethernet last. Network libraries take one of these if nobody chooses.
std::vector<std::size_t> usual_adapters(std::span<const Device> devices);

// How the adapters of a rank with this environment were chosen: the value of kNicVariable, or
// nothing, and behind it the variables by which the user has named adapters, such as
// "HFI_UNIT=1; the user has named hfi1_1". If the user has named adapters of a kind that is not
// the fastest of the node, a library may send through one of the fastest kind nevertheless, and
// the text names these too.
std::string nic_of(Environment environment, std::span<const Device> devices);

// The adapters that nic_of() names, if it names some, else usual_adapters(). One adapter: the rank
// surely sends through it.
std::vector<std::size_t> adapters_of_rank(std::string_view nic, std::span<const Device> devices);

}  // namespace ondeloc
