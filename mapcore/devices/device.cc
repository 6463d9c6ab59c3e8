// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/device.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace ondeloc {
namespace {

constexpr std::array<const char*, 9> kKindNames{
    "Omni-Path adapter", "InfiniBand adapter", "Slingshot adapter",
    "EFA adapter",       "Ethernet adapter",   "NVIDIA GPU",
    "AMD GPU",           "Intel GPU",          "other GPU"};
constexpr std::array<const char*, 3> kStateNames{"unknown", "active", "inactive"};

}  // namespace

bool is_gpu(DeviceKind kind) { return kind >= DeviceKind::kNvidia; }
const char* name_of(DeviceKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
const char* name_of(LinkState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::string locality_text(const Device& device) {
  if (device.node >= 0) return fmt::format("NUMA node {}", device.node);
  return device.near.empty() ? "unknown" : "CPUs " + device.near.to_list();
}

std::string device_text(const Device& device) {
  const bool roce = device.kind == DeviceKind::kInfiniband && device.ethernet;
  std::string text =
      fmt::format("{} {}", roce ? "RoCE adapter" : name_of(device.kind), device.name);
  if (!device.pci.empty() && device.pci != device.name) text += ", " + device.pci;
  const std::string locality = locality_text(device);
  text += locality == "unknown" ? ", locality unknown" : ", " + locality;
  if (is_gpu(device.kind)) return text;
  if (device.state != LinkState::kUnknown) text += fmt::format(", {}", name_of(device.state));
  if (device.gigabits > 0) text += fmt::format(", {:g} Gbit/s", device.gigabits);
  return text;
}

DeviceKind gpu_kind(unsigned pci_vendor) {
  switch (pci_vendor) {
    case 0x10de:
      return DeviceKind::kNvidia;
    case 0x1002:
      return DeviceKind::kAmd;
    case 0x8086:
      return DeviceKind::kIntel;
    default:
      return DeviceKind::kOtherGpu;
  }
}

bool is_pci_address(std::string_view text) {
  constexpr std::string_view kShape = "hhhh:hh:hh.h";
  // Domains of more than 16 bits have more digits in front.
  if (text.size() < kShape.size() || text.size() > kShape.size() + 4) return false;
  const std::string_view shape_free = text.substr(0, text.size() - kShape.size());
  for (const char c : shape_free)
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return false;
  text.remove_prefix(shape_free.size());
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    if (kShape[i] == 'h' ? !digit : text[i] != kShape[i]) return false;
  }
  return true;
}

}  // namespace ondeloc
