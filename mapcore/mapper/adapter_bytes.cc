// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/adapter_bytes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

// Positions of adapters.
using Found = std::vector<std::size_t>;

// The adapters that a value of ONDELOC_NIC names: "VARIABLE=VALUE ...; hfi1_0 is on ...".
Found named_in(std::string_view nic, std::span<const Device> devices) {
  Found found;
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

// The kinds are in the order of their speed, Ethernet last.
Found active_of_best_kind(std::span<const Device> devices) {
  Found found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (is_gpu(device.kind) || device.state != LinkState::kActive) continue;
    if (!found.empty() && device.kind < devices[found.front()].kind) found.clear();
    if (found.empty() || device.kind == devices[found.front()].kind) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<ReportAdapter> bytes_by_adapter(std::span<const Device> devices, const Report& report) {
  const Found usual = active_of_best_kind(devices);
  std::map<int, const ReportRank*> rank_of;
  for (const ReportRank& rank : report.ranks) rank_of[rank.rank] = &rank;
  std::map<std::size_t, ReportAdapter> adapters;
  for (const ReportCell& cell : report.off_node) {
    const auto rank = rank_of.find(cell.src);
    if (rank == rank_of.end()) continue;
    const Found named = named_in(rank->second->nic, devices);
    const Found& used = named.empty() ? usual : named;
    if (used.size() != 1 || devices[used.front()].near.empty()) continue;
    const Device& device = devices[used.front()];
    const auto cpus = CpuSet::parse_list(rank->second->final_cpus);
    ReportAdapter& adapter = adapters[used.front()];
    adapter.name = device.name;
    const bool is_near = cpus && !cpus->empty() && cpus->is_subset_of(device.near);
    (is_near ? adapter.near_bytes : adapter.far_bytes) += cell.bytes;
  }
  std::vector<ReportAdapter> list;
  for (auto& [position, adapter] : adapters) list.push_back(std::move(adapter));
  return list;
}

}  // namespace ondeloc
