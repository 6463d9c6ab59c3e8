// SPDX-License-Identifier: Apache-2.0
// Network adapters and GPUs of a node as plain data. scan.h reads them from /sys,
// topology/read_devices.h from an hwloc XML file.
//
// The locality of a device is its NUMA node, or, if the machine does not tell one node, the CPUs
// near it. Both can be unknown: many virtual machines report node -1. An adapter of unknown
// locality constrains nothing. A rank that uses a GPU of unknown locality stays on its NUMA node.
// Thread safety: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

// Adapters first, then GPUs. kEthernet: without RDMA. kOtherGpu: a render node of another maker.
enum class DeviceKind {
  kOmniPath,
  kInfiniband,
  kSlingshot,
  kEfa,
  kEthernet,
  kNvidia,
  kAmd,
  kIntel,
  kOtherGpu
};

enum class LinkState { kUnknown, kActive, kInactive };

struct Device {
  DeviceKind kind = DeviceKind::kEthernet;
  std::string
      name;  // of the kernel: "hfi1_0", "mlx5_0", "eth0", "renderD128"; else the PCI address
  std::string pci = {};  // "0000:3b:00.0"; empty: not a PCI device, or unknown
  int node = -1;         // kernel's NUMA node; -1: unknown, or several
  CpuSet near = {};      // CPUs at the same distance as those of the node; empty: unknown
  // The rest is about adapters: the values of the first active port, else of the first port.
  LinkState state = LinkState::kUnknown;
  int port = 0;             // 0: the adapter has no numbered ports
  double gigabits = 0;      // per second; 0: unknown
  bool ethernet = false;    // RDMA over Ethernet
  std::string fabric = {};  // adapters with the same text reach each other; empty: unknown
};

bool is_gpu(DeviceKind kind);
// "InfiniBand adapter", "NVIDIA GPU".
const char* name_of(DeviceKind kind);
// "active", "inactive", "unknown".
const char* name_of(LinkState state);
// "NUMA node 1", "CPUs 0-7" or "unknown".
std::string locality_text(const Device& device);
// "InfiniBand adapter mlx5_0, 0000:3b:00.0, NUMA node 1, active, 100 Gbit/s".
std::string device_text(const Device& device);

// 0x10de, 0x1002, 0x8086 are the makers of GPUs that programs compute on.
DeviceKind gpu_kind(unsigned pci_vendor);
// True for "0000:3b:00.0" with hexadecimal digits.
bool is_pci_address(std::string_view text);

}  // namespace ondeloc
