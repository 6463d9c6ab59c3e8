// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/load.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
  CpuSet set;
  if (bitmap == nullptr) return set;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && cpu < CpuSet::kMaxCpu;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    set.set(PuOs(cpu));
  }
  return set;
}

// hwloc prints to stderr when a synthetic string or an XML file is bad; the error is ours to tell.
void keep_hwloc_quiet() {
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  setenv("HWLOC_SYNTHETIC_VERBOSE", "0", 0);
}

// hwloc follows pointers that it did not find in an XML file: a damaged one is loaded by a child
// first. Where there is none the file is taken as sound.
bool ends_hwloc(hwloc_topology_t topology) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    (void)hwloc_topology_load(topology);
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return child > 0 && WIFSIGNALED(status);
}

Result<Topology> open_source(const std::string& source) {
  keep_hwloc_quiet();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Error::from_errno("hwloc");
  Topology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  const bool is_host = source.empty() || source == "host";
  const bool is_file = !is_host && access(source.c_str(), F_OK) == 0;
  if (!is_host) {
    if ((is_file && access(source.c_str(), R_OK) != 0) || (!is_file && errno == EACCES))
      return Error::from_errno(fmt::format("topology '{}' cannot be read", shorten_path(source)));
    const int rc = is_file ? hwloc_topology_set_xml(raw, source.c_str())
                           : hwloc_topology_set_synthetic(raw, source.c_str());
    if (rc != 0) {
      return Error(fmt::format(
          "topology '{}': {}", shorten_path(source),
          is_file
              ? "not an hwloc XML file"
              : "no such file, and not an hwloc synthetic string such as 'numa:2 core:4 pu:1'"));
    }
  }
  if (is_file && ends_hwloc(raw)) {
    return Error(fmt::format("topology '{}': hwloc crashes on it, the file is damaged",
                             shorten_path(source)));
  }
  if (hwloc_topology_load(raw) != 0) {
    return Error(fmt::format("topology '{}': hwloc cannot load it",
                             is_host ? "host" : shorten_path(source)));
  }
  return topology;
}

bool is_memory_node_new(const Machine& machine, const CpuSet& pus) {
  return !pus.empty() && std::none_of(machine.nodes.begin(), machine.nodes.end(),
                                      [&](const NumaNode& node) { return node.pus == pus; });
}

// Lowest OS index first, so that of two nodes with one cpuset the lowest is kept.
std::vector<hwloc_obj_t> numa_objects(hwloc_topology_t topology) {
  std::vector<hwloc_obj_t> objects;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    objects.push_back(node);
  }
  std::sort(objects.begin(), objects.end(),
            [](auto* a, auto* b) { return a->os_index < b->os_index; });
  return objects;
}

// Returns the hwloc object behind each entry of machine.nodes (nullptr for PUs without a node).
std::vector<hwloc_obj_t> add_nodes(hwloc_topology_t topology, const CpuSet& all, Machine& machine) {
  std::vector<std::pair<NumaNode, hwloc_obj_t>> found;
  CpuSet orphans = all;
  for (hwloc_obj_t object : numa_objects(topology)) {
    // A nested node (memory closer to some PUs) takes its PUs only where no earlier node has them.
    const CpuSet pus = to_cpu_set(object->cpuset) & orphans;
    if (!is_memory_node_new(machine, pus)) continue;
    orphans -= pus;
    found.push_back({NumaNode{static_cast<int>(object->os_index), pus, 0}, object});
  }
  if (!orphans.empty()) found.push_back({NumaNode{-1, orphans, 0}, nullptr});
  auto first_logical = [&](const CpuSet& pus) {
    for (const Pu& pu : machine.pus) {
      if (pus.test(pu.os)) return pu.logical.value;
    }
    return CpuSet::kMaxCpu;
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return first_logical(a.first.pus) < first_logical(b.first.pus);
  });
  std::vector<hwloc_obj_t> objects;
  for (auto& [node, object] : found) {
    machine.nodes.push_back(std::move(node));
    objects.push_back(object);
  }
  return objects;
}

int ancestor_of(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
  hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return object == nullptr ? -1 : static_cast<int>(object->logical_index);
}

int board_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  for (hwloc_obj_t up = pu->parent; up != nullptr; up = up->parent) {
    if (up->type != HWLOC_OBJ_GROUP) continue;
    // A board holds packages; groups inside a package are not boards.
    if (hwloc_get_nbobjs_inside_cpuset_by_type(topology, up->cpuset, HWLOC_OBJ_PACKAGE) > 0) {
      return static_cast<int>(up->logical_index);
    }
  }
  return -1;
}

void add_pus(hwloc_topology_t topology, Machine& machine) {
  const CpuSet online = to_cpu_set(hwloc_topology_get_topology_cpuset(topology));
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
    const PuOs os(static_cast<int>(pu->os_index));
    if (!online.test(os)) continue;
    Pu entry{os, PuLogical(static_cast<int>(pu->logical_index)), NodeIndex(-1), {}};
    entry.ancestor = {0,
                      board_of(topology, pu),
                      ancestor_of(topology, pu, HWLOC_OBJ_PACKAGE),
                      -1,
                      ancestor_of(topology, pu, HWLOC_OBJ_L3CACHE),
                      ancestor_of(topology, pu, HWLOC_OBJ_L2CACHE),
                      ancestor_of(topology, pu, HWLOC_OBJ_L1CACHE),
                      ancestor_of(topology, pu, HWLOC_OBJ_CORE),
                      static_cast<int>(pu->logical_index)};
    machine.pus.push_back(entry);
  }
}

void join_pus_to_nodes(Machine& machine) {
  for (Pu& pu : machine.pus) {
    for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
      if (!machine.nodes[k].pus.test(pu.os)) continue;
      pu.node = NodeIndex(static_cast<int>(k));
      pu.ancestor[static_cast<std::size_t>(Level::kNuma)] = static_cast<int>(k);
    }
  }
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

Result<Machine> load_machine(const std::string& source) {
  auto topology = open_source(source);
  if (!topology) return std::move(topology).error();
  Machine machine;
  machine.source = source.empty() ? "host" : source;
  const int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(topology->get()));
  if (last >= CpuSet::kMaxCpu)
    return Error(fmt::format("topology '{}': CPU {} is beyond the {} that ondeloc knows",
                             shorten_path(machine.source), last, CpuSet::kMaxCpu));
  add_pus(topology->get(), machine);
  if (machine.pus.empty())
    return Error(fmt::format("topology '{}': it has no PU", shorten_path(machine.source)));
  const auto objects = add_nodes(topology->get(), machine.all_pus(), machine);
  join_pus_to_nodes(machine);
  add_distances(topology->get(), objects, machine);
  add_bandwidths(topology->get(), objects, machine);
  machine.allowed =
      to_cpu_set(hwloc_topology_get_allowed_cpuset(topology->get())) & machine.all_pus();
  return machine;
}

}  // namespace ondeloc
