// SPDX-License-Identifier: Apache-2.0
// Finds the network adapters and GPUs of this node in /sys and /proc: a few files for each device,
// in less than a millisecond on a usual node. hwloc's own search for devices may take seconds.
//
// Virtual functions are left out if the machine has the adapter that they are functions of. A
// virtual machine that has only the virtual function keeps it. Thread safety: no state. `root` lets
// tests read a made-up tree.
#pragma once

#include <string>
#include <vector>

#include "mapcore/devices/device.h"

namespace ondeloc {

// Omni-Path, InfiniBand, EFA, Slingshot, then Ethernet adapters that are PCI devices and not part
// of one of the others.
std::vector<Device> scan_adapters(const std::string& root = "");
// The same without the Ethernet adapters, in less time.
std::vector<Device> scan_fabrics(const std::string& root = "");
// Devices that programs compute on: those with a render node, and those that NVIDIA's driver has.
// The graphics of a board's management controller is not one, nor is a part of a GPU.
std::vector<Device> scan_gpus(const std::string& root = "");
// Both.
std::vector<Device> scan_devices(const std::string& root = "");

}  // namespace ondeloc
