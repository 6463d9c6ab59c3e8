// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/rank_adapter.h"

#include <string>

namespace ondeloc {
namespace {

using Adapters = std::vector<std::size_t>;

// The adapters in "VARIABLE=VALUE ...; hfi1_0 is on ...".
Adapters named_in(std::string_view nic, std::span<const Device> devices) {
  Adapters found;
  if (nic.empty() || nic.front() == ';') return found;  // nothing was set
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& name = devices[i].name;
    for (std::size_t at = nic.find(name); at != nic.npos; at = nic.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool ends = end == nic.size() || std::string_view(" ,:;").find(nic[end]) != nic.npos;
      if (!ends || is_gpu(devices[i].kind)) continue;
      found.push_back(i);
      break;
    }
  }
  return found;
}

}  // namespace

Adapters usual_adapters(std::span<const Device> devices) {
  Adapters found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (is_gpu(device.kind) || device.state != LinkState::kActive) continue;
    if (!found.empty() && device.kind < devices[found.front()].kind) found.clear();
    if (found.empty() || device.kind == devices[found.front()].kind) found.push_back(i);
  }
  return found;
}

Adapters adapters_of_rank(std::string_view nic, std::span<const Device> devices) {
  Adapters named = named_in(nic, devices);
  return named.empty() ? usual_adapters(devices) : named;
}

}  // namespace ondeloc
