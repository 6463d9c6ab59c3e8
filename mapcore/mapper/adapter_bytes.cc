// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/adapter_bytes.h"

#include <map>

#include "mapcore/base/cpu_set.h"
#include "mapcore/devices/rank_adapter.h"

namespace ondeloc {
std::vector<ReportAdapter> bytes_by_adapter(std::span<const Device> devices, const Report& report) {
  std::map<int, const ReportRank*> rank_of;
  for (const ReportRank& rank : report.ranks) rank_of[rank.rank] = &rank;
  std::map<std::size_t, ReportAdapter> adapters;
  for (const ReportCell& cell : report.off_node) {
    const auto rank = rank_of.find(cell.src);
    if (rank == rank_of.end()) continue;
    const std::vector<std::size_t> used = adapters_of_rank(rank->second->nic, devices);
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
