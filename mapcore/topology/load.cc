// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/text.h"
#include "mapcore/devices/scan.h"
#include "mapcore/topology/open_topology.h"
#include "mapcore/topology/read_cpus.h"
#include "mapcore/topology/read_devices.h"
#include "mapcore/topology/read_memory.h"

namespace ondeloc {
namespace {

// PUs that the machine has and hwloc did not load because the kernel does not run them.
CpuSet offline_pus(hwloc_topology_t topology) {
  return to_cpu_set(hwloc_topology_get_complete_cpuset(topology)) -
         to_cpu_set(hwloc_topology_get_topology_cpuset(topology));
}

std::string model_of(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  for (hwloc_obj_t object : {package, hwloc_get_root_obj(topology)}) {
    const char* model =
        object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, "CPUModel");
    if (model != nullptr) return std::string(trim_blanks(model));
  }
  return "";
}

}  // namespace

Result<Machine> load_machine(const std::string& source) {
  auto topology = open_topology(source);
  if (!topology) return std::move(topology).error();
  Machine machine;
  machine.source = source.empty() ? "host" : source;
  const int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(topology->get()));
  if (last >= CpuSet::kMaxCpu)
    return Error(fmt::format("topology '{}': CPU {} is beyond the {} that ondeloc knows",
                             shorten_path(machine.source), last, CpuSet::kMaxCpu));
  read_pus(topology->get(), machine);
  if (machine.pus.empty())
    return Error(fmt::format("topology '{}': the machine has no PU", shorten_path(machine.source)));
  read_memory(topology->get(), machine);
  read_caches(topology->get(), machine);
  read_kinds(topology->get(), machine);
  if (machine.source == "host") {
    machine.devices = scan_devices();  // hwloc's own search takes seconds
  } else {
    read_devices(topology->get(), machine);
  }
  place_devices(machine);
  machine.model = model_of(topology->get());
  machine.offline = offline_pus(topology->get());
  machine.allowed =
      to_cpu_set(hwloc_topology_get_allowed_cpuset(topology->get())) & machine.all_pus();
  return machine;
}

Status take_devices(const std::string& source, Machine& machine) {
  auto other = load_machine(source);
  if (!other) return std::move(other).error();
  for (Device& device : other->devices) {
    if (const CpuSet beyond = device.near - machine.all_pus(); !beyond.empty())
      return Error(fmt::format("'{}': {} is near CPUs {}, which the topology lacks",
                               shorten_path(source), device.name, shorten(beyond.to_list())));
    device.node = -1;  // the machine may number its nodes otherwise
  }
  machine.devices = std::move(other->devices);
  place_devices(machine);
  return {};
}

}  // namespace ondeloc
