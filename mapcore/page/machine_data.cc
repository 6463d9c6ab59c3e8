// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/machine_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

CpuSet set_of(const std::string& list) {
  auto cpus = CpuSet::parse_list(list);
  return cpus ? *std::move(cpus) : CpuSet();
}

// A report of an earlier release has no cores: every CPU counts as one.
std::vector<CpuSet> cores_of(const ReportRun& run) {
  std::vector<CpuSet> cores;
  for (const std::string& list : run.cores) cores.push_back(set_of(list));
  if (!cores.empty()) return cores;
  for (const ReportedNuma& node : run.numa) {
    for (const PuOs cpu : set_of(node.cpus).to_vector()) {
      cores.emplace_back();
      cores.back().set(cpu);
    }
  }
  return cores;
}

std::vector<std::size_t> cores_inside(const std::vector<CpuSet>& cores, const CpuSet& place) {
  std::vector<std::size_t> inside;
  for (std::size_t i = 0; i < cores.size(); ++i)
    if (cores[i].intersects(place)) inside.push_back(i);
  return inside;
}

// Caches only if they tell more than the NUMA node.
nlohmann::ordered_json groups_of(const ReportRun& run, const ReportedNuma& node,
                                 const std::vector<CpuSet>& cores) {
  nlohmann::ordered_json groups = nlohmann::json::array();
  for (const ReportedCache& cache : run.caches) {
    if (cache.numa == node.os)
      groups.push_back({{"name", cache.bytes > 0 ? capacity_text(cache.bytes) + " last-level cache"
                                                 : std::string()},
                        {"cores", cores_inside(cores, set_of(cache.cpus))}});
  }
  if (groups.empty())
    groups.push_back({{"name", ""}, {"cores", cores_inside(cores, set_of(node.cpus))}});
  return groups;
}

bool is_on(const ReportedDevice& device, const ReportedNuma& node) {
  if (device.node >= 0) return device.node == node.os;
  const CpuSet near = set_of(device.near);
  return !near.empty() && near.is_subset_of(set_of(node.cpus));
}

// The adapters and GPUs of `node`; without a node, those that are on none.
nlohmann::ordered_json devices_of(const ReportRun& run, const ReportedNuma* node) {
  nlohmann::ordered_json devices = nlohmann::json::array();
  for (const ReportedDevice& device : run.devices) {
    const bool is_on_none =
        std::none_of(run.numa.begin(), run.numa.end(),
                     [&](const ReportedNuma& other) { return is_on(device, other); });
    if (node == nullptr ? is_on_none : is_on(device, *node))
      devices.push_back({fmt::format("{} {}", device.kind, device.name), device.pci});
  }
  return devices;
}

std::string name_of_node(const ReportedNuma& node) {
  const std::string name = node.os < 0 ? "no NUMA node" : fmt::format("NUMA node {}", node.os);
  return node.package < 0 ? name : fmt::format("package {} · {}", node.package, name);
}

}  // namespace

nlohmann::ordered_json machine_data(const ReportRun& run) {
  const std::vector<CpuSet> cores = cores_of(run);
  nlohmann::ordered_json nodes = nlohmann::json::array(), lists = nlohmann::json::array();
  for (const ReportedNuma& node : run.numa)
    nodes.push_back({{"name", name_of_node(node)},
                     {"short", fmt::format("NUMA {}", node.os)},
                     {"cores", cores_inside(cores, set_of(node.cpus))},
                     {"groups", groups_of(run, node, cores)},
                     {"devices", devices_of(run, &node)}});
  for (const CpuSet& core : cores) lists.push_back(core.to_list());
  return {{"nodes", nodes},
          {"cores", lists},
          {"devicesElsewhere", devices_of(run, nullptr)},
          {"hasCaches", run.caches.size() > run.numa.size()}};
}

}  // namespace ondeloc
