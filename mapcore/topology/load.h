// SPDX-License-Identifier: Apache-2.0
// The topology seam: hwloc stays behind this function.
#pragma once

#include <string>

#include "mapcore/base/result.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// `source`: "host" (or empty), the path of an hwloc XML file, or an hwloc synthetic string such as
// "package:2 numa:1 core:4 pu:1". The whole machine is loaded, PUs that the process may not use
// included; `allowed` tells which it may. Offline PUs are left out. For XML and synthetic sources
// all PUs that the source allows are allowed. Errors: one sentence naming the source. Reads files;
// call it as the user, never as root.
Result<Machine> load_machine(const std::string& source);

// Replaces the devices of the machine by those of another source, as for load_machine(). Errors:
// one sentence naming the source: it cannot be loaded, or it has devices near CPUs that the machine
// lacks.
Status take_devices(const std::string& source, Machine& machine);

}  // namespace ondeloc
