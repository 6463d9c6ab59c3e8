// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/adapter_bytes.h"

#include <map>

#include "mapcore/base/cpu_set.h"
#include "mapcore/devices/rank_adapter.h"

namespace ondeloc {
namespace {

// Calls visit(cell, adapter, is_near) for each rank with off-node bytes that surely sends through
// one adapter of known place.
template <class Visit>
void for_each_sender(std::span<const Device> devices, const Report& report, Visit visit) {
  std::map<int, const ReportRank*> rank_of;
  for (const ReportRank& rank : report.ranks) rank_of[rank.rank] = &rank;
  for (const ReportCell& cell : report.off_node) {
    const auto rank = rank_of.find(cell.src);
    if (rank == rank_of.end()) continue;
    const std::vector<std::size_t> used = adapters_of_rank(rank->second->nic, devices);
    if (used.size() != 1 || devices[used.front()].near.empty()) continue;
    const auto cpus = CpuSet::parse_list(rank->second->final_cpus);
    visit(cell, used.front(),
          cpus && !cpus->empty() && cpus->is_subset_of(devices[used.front()].near));
  }
}

}  // namespace

std::vector<ReportAdapter> bytes_by_adapter(std::span<const Device> devices, const Report& report) {
  std::map<std::size_t, ReportAdapter> adapters;
  for_each_sender(devices, report, [&](const ReportCell& cell, std::size_t used, bool is_near) {
    ReportAdapter& adapter = adapters[used];
    adapter.name = devices[used].name;
    (is_near ? adapter.near_bytes : adapter.far_bytes) += cell.bytes;
  });
  std::vector<ReportAdapter> list;
  for (auto& [position, adapter] : adapters) list.push_back(std::move(adapter));
  return list;
}

RankList ranks_far_from_adapters(std::span<const Device> devices, const Report& report) {
  RankList far;
  for_each_sender(devices, report, [&](const ReportCell& cell, std::size_t, bool is_near) {
    if (!is_near && cell.bytes > 0) far.add(WorldRank(cell.src));
  });
  return far;
}

}  // namespace ondeloc
