// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/read_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "mapcore/topology/open_topology.h"

namespace ondeloc {
namespace {

// Files of other sources than hwloc can have any number of them.
constexpr std::size_t kMostDevices = 1024;

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : value;
}

hwloc_obj_t pci_of(hwloc_obj_t object) {
  while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) object = object->parent;
  return object;
}

std::string address_of(hwloc_obj_t pci) {
  if (pci == nullptr) return "";
  const auto& attr = pci->attr->pcidev;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(attr.domain),
                     static_cast<unsigned>(attr.bus), static_cast<unsigned>(attr.dev),
                     static_cast<unsigned>(attr.func));
}

DeviceKind rdma_kind(std::string_view name) {
  if (name.starts_with("hfi1")) return DeviceKind::kOmniPath;
  if (name.starts_with("cxi")) return DeviceKind::kSlingshot;
  return name.starts_with("efa") || name.starts_with("rdmap") ? DeviceKind::kEfa
                                                              : DeviceKind::kInfiniband;
}

// hwloc notes the state of RDMA ports: 4 is active.
void read_ports(hwloc_obj_t object, Device& device) {
  for (int port = 1; port <= 2 && device.state != LinkState::kActive; ++port) {
    const std::string state = info_of(object, fmt::format("Port{}State", port).c_str());
    if (state.empty()) continue;
    if (device.port == 0 || state == "4") device.port = port;
    device.state = state == "4" ? LinkState::kActive : LinkState::kInactive;
  }
}

bool has_pci(const Machine& machine, const std::string& pci) {
  return !pci.empty() && std::any_of(machine.devices.begin(), machine.devices.end(),
                                     [&](const Device& device) { return device.pci == pci; });
}

void add_device(hwloc_topology_t topology, hwloc_obj_t object, DeviceKind kind, Machine& machine) {
  Device device{kind, object->name == nullptr ? "" : object->name, address_of(pci_of(object))};
  if (has_pci(machine, device.pci) || machine.devices.size() >= kMostDevices) return;
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object);
  if (place != nullptr) device.near = to_cpu_set(place->cpuset);
  if (!is_gpu(kind)) read_ports(object, device);
  machine.devices.push_back(std::move(device));
}

// A GPU has several OS devices: "card0", "renderD128", "cuda0", "opencl0d0". The vendor of its PCI
// device tells whether programs compute on it; a management controller's graphics is left out.
void add_gpu(hwloc_topology_t topology, hwloc_obj_t object, Machine& machine) {
  const hwloc_obj_t pci = pci_of(object);
  const DeviceKind kind =
      pci == nullptr ? DeviceKind::kOtherGpu : gpu_kind(pci->attr->pcidev.vendor_id);
  const bool computes = object->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;
  if (kind == DeviceKind::kOtherGpu && !computes) return;
  add_device(topology, object, kind, machine);
}

void add_of_type(hwloc_topology_t topology, hwloc_obj_osdev_type_t type, Machine& machine) {
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_osdev(topology, object)) != nullptr;) {
    if (object->attr->osdev.type != type) continue;
    const std::string_view name = object->name == nullptr ? "" : object->name;
    if (type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
      add_device(topology, object, rdma_kind(name), machine);
    } else if (type == HWLOC_OBJ_OSDEV_NETWORK) {
      if (pci_of(object) != nullptr) add_device(topology, object, DeviceKind::kEthernet, machine);
    } else {
      add_gpu(topology, object, machine);
    }
  }
}

}  // namespace

void read_devices(hwloc_topology_t topology, Machine& machine) {
  for (const hwloc_obj_osdev_type_t type : {HWLOC_OBJ_OSDEV_OPENFABRICS, HWLOC_OBJ_OSDEV_NETWORK,
                                            HWLOC_OBJ_OSDEV_GPU, HWLOC_OBJ_OSDEV_COPROC})
    add_of_type(topology, type, machine);
}

void place_devices(Machine& machine) {
  const CpuSet all = machine.all_pus();
  for (Device& device : machine.devices) {
    CpuSet near = device.near & all;
    int inside = -1;  // the one node that holds all near CPUs
    for (const NumaNode& node : machine.nodes) {
      if (device.node >= 0 && node.os == device.node) near = node.pus;
      if (!near.empty() && near.is_subset_of(node.pus)) inside = node.os;
    }
    const bool is_told = device.node >= 0 && inside == device.node;
    if (!is_told && near == all) {
      device.node = -1;
      device.near = CpuSet();
      continue;
    }
    device.node = inside;
    device.near = std::move(near);
  }
}

}  // namespace ondeloc
