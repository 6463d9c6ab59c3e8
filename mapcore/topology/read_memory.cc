// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/read_memory.h"

#include <hwloc/distances.h>
#include <hwloc/memattrs.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "mapcore/topology/open_topology.h"

namespace ondeloc {
namespace {

bool is_gpu_memory(const std::string& kind) {
  return kind.find("GPU") != std::string::npos || kind.find("Coherent") != std::string::npos;
}

// Memory that a program has to ask for: no place to map ranks to while ordinary memory is there.
bool is_special(const std::string& kind) {
  return is_gpu_memory(kind) || kind == "HBM" || kind == "MCDRAM" || kind == "NVM" ||
         kind == "CXL-DRAM" || kind == "SPM";
}

struct Memory {
  OtherMemory memory;
  hwloc_obj_t object = nullptr;
};

std::string kind_of(hwloc_obj_t object) {
  if (object->subtype != nullptr) return object->subtype;
  const char* tier = hwloc_obj_get_info_by_name(object, "DAXType");
  return tier == nullptr ? "" : tier;
}

// Ordinary memory first, then by OS index: of two memories with the same PUs the first is the node.
// Kernels of POWER can have an empty node 0, which hwloc puts beside the nearest one.
std::vector<Memory> memories_of(hwloc_topology_t topology, const CpuSet& all) {
  std::vector<Memory> memories;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    OtherMemory memory{static_cast<int>(node->os_index), kind_of(node),
                       node->attr->numanode.local_memory, to_cpu_set(node->cpuset) & all};
    memories.push_back({std::move(memory), node});
  }
  std::sort(memories.begin(), memories.end(), [](const Memory& a, const Memory& b) {
    return std::tuple(is_special(a.memory.kind), a.memory.memory == 0, a.memory.os) <
           std::tuple(is_special(b.memory.kind), b.memory.memory == 0, b.memory.os);
  });
  return memories;
}

int first_logical(const Machine& machine, const CpuSet& pus) {
  for (const Pu& pu : machine.pus)
    if (pus.test(pu.os)) return pu.logical.value;
  return CpuSet::kMaxCpu;
}

struct FoundNode {
  NumaNode node;
  hwloc_obj_t object = nullptr;
};

// A memory closer to some PUs, nested in another, takes its PUs only if no earlier node has them.
std::vector<FoundNode> nodes_among(std::vector<Memory> memories, CpuSet orphans, Machine& machine) {
  std::vector<FoundNode> found;
  for (Memory& each : memories) {
    const CpuSet pus = each.memory.near & orphans;
    if (pus.empty() || is_gpu_memory(each.memory.kind)) {
      machine.other_memories.push_back(std::move(each.memory));
      continue;
    }
    orphans -= pus;
    found.push_back(
        {NumaNode{each.memory.os, pus, 0, each.memory.memory, each.memory.kind}, each.object});
  }
  if (!orphans.empty()) found.push_back({NumaNode{-1, orphans}, nullptr});
  std::stable_sort(found.begin(), found.end(), [&](const FoundNode& a, const FoundNode& b) {
    return first_logical(machine, a.node.pus) < first_logical(machine, b.node.pus);
  });
  return found;
}

// Returns the hwloc object behind each entry of machine.nodes (nullptr for PUs without a node).
std::vector<hwloc_obj_t> add_nodes(hwloc_topology_t topology, Machine& machine) {
  const CpuSet all = machine.all_pus();
  std::vector<hwloc_obj_t> objects;
  for (FoundNode& found : nodes_among(memories_of(topology, all), all, machine)) {
    machine.nodes.push_back(std::move(found.node));
    objects.push_back(found.object);
  }
  return objects;
}

void join_pus_to_nodes(Machine& machine) {
  for (Pu& pu : machine.pus) {
    for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
      NumaNode& node = machine.nodes[k];
      if (!node.pus.test(pu.os)) continue;
      pu.node = NodeIndex(static_cast<int>(k));
      pu.ancestor[static_cast<std::size_t>(Level::kNuma)] = static_cast<int>(k);
      if (node.package < 0) node.package = pu.at(Level::kPackage);
    }
  }
  // Without packages each node counts as one.
  for (std::size_t k = 0; k < machine.nodes.size(); ++k)
    if (machine.nodes[k].package < 0) machine.nodes[k].package = static_cast<int>(k);
}

// The NUMA latency matrix, 0 for nodes that it does not cover: whoever looks at some of the nodes
// may still have all that he needs.
void add_distances(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& objects,
                   Machine& machine) {
  unsigned count = 1;
  hwloc_distances_s* found = nullptr;
  const int rc = hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &found,
                                             HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
  if (rc != 0 || count == 0 || found == nullptr) return;
  std::vector<double> square;
  for (hwloc_obj_t from : objects) {
    for (hwloc_obj_t to : objects) {
      hwloc_uint64_t there = 0, back = 0;
      const bool known = from != nullptr && to != nullptr &&
                         hwloc_distances_obj_pair_values(found, from, to, &there, &back) == 0;
      square.push_back(known ? static_cast<double>(there) : 0);
    }
  }
  hwloc_distances_release(topology, found);
  machine.distances = std::move(square);
}

constexpr double kMiB = 1024.0 * 1024.0;  // hwloc's unit of bandwidth is MiB/s

// Bytes per second between `from`'s PUs and `to`'s memory, 0 where hwloc does not know.
double bandwidth_between(hwloc_topology_t topology, hwloc_obj_t from, hwloc_obj_t to) {
  if (from == nullptr || to == nullptr) return 0;
  hwloc_location initiator{};
  initiator.type = HWLOC_LOCATION_TYPE_CPUSET;
  initiator.location.cpuset = from->cpuset;
  hwloc_uint64_t value = 0;
  if (hwloc_memattr_get_value(topology, HWLOC_MEMATTR_ID_BANDWIDTH, to, &initiator, 0, &value) != 0)
    return 0;
  return static_cast<double>(value) * kMiB;
}

void add_bandwidths(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& objects,
                    Machine& machine) {
  bool some = false;
  std::vector<double> links;
  for (std::size_t k = 0; k < objects.size(); ++k) {
    machine.nodes[k].bandwidth = bandwidth_between(topology, objects[k], objects[k]);
    for (hwloc_obj_t to : objects) {
      links.push_back(bandwidth_between(topology, objects[k], to));
      some = some || links.back() > 0;
    }
  }
  if (some) machine.link_bandwidth = std::move(links);
}

}  // namespace

void read_memory(hwloc_topology_t topology, Machine& machine) {
  const auto objects = add_nodes(topology, machine);
  join_pus_to_nodes(machine);
  add_distances(topology, objects, machine);
  add_bandwidths(topology, objects, machine);
}

}  // namespace ondeloc
