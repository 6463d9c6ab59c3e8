// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/read_cpus.h"

#include <hwloc/cpukinds.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "mapcore/topology/open_topology.h"

namespace ondeloc {
namespace {

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

}  // namespace

void read_pus(hwloc_topology_t topology, Machine& machine) {
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

namespace {

struct CacheType {
  Level level;
  hwloc_obj_type_t type;
};
constexpr CacheType kCacheTypes[] = {{Level::kL3, HWLOC_OBJ_L3CACHE},
                                     {Level::kL2, HWLOC_OBJ_L2CACHE},
                                     {Level::kL1, HWLOC_OBJ_L1CACHE}};

void add_caches(hwloc_topology_t topology, Machine& machine) {
  const CpuSet all = machine.all_pus();
  for (const CacheType& kind : kCacheTypes) {
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology, kind.type, cache)) != nullptr;) {
      const CpuSet pus = to_cpu_set(cache->cpuset) & all;
      if (!pus.empty()) machine.caches.push_back({kind.level, cache->attr->cache.size, pus});
    }
  }
}

bool is_shared_by_cores(const Machine& machine, Level level) {
  std::map<int, int> core_of;
  for (const Pu& pu : machine.pus) {
    if (pu.at(level) < 0) continue;
    const auto [known, is_new] = core_of.try_emplace(pu.at(level), pu.at(Level::kCore));
    if (!is_new && known->second != pu.at(Level::kCore)) return true;
  }
  return false;
}

// A private L2 without an L3 behind it is followed by something that hwloc does not see, such as
// the system cache of many Arm chips: no level then.
Level last_level(const Machine& machine) {
  const bool has_l3 = std::any_of(machine.pus.begin(), machine.pus.end(),
                                  [](const Pu& pu) { return pu.at(Level::kL3) >= 0; });
  if (has_l3) return Level::kL3;
  return is_shared_by_cores(machine, Level::kL2) ? Level::kL2 : Level::kNuma;
}

std::uint64_t size_of(const Machine& machine, Level level, PuOs pu) {
  for (const Cache& cache : machine.caches)
    if (cache.level == level && cache.pus.test(pu)) return cache.bytes;
  return 0;
}

void add_llcs(Machine& machine) {
  const Level level = last_level(machine);
  std::map<std::tuple<int, int>, Llc> found;  // node, cache
  for (const Pu& pu : machine.pus) {
    const int cache = level == Level::kNuma ? -1 : pu.at(level);
    const auto [llc, is_new] = found.try_emplace({pu.node.value, cache});
    if (is_new) {
      const Level own = cache < 0 ? Level::kNuma : level;
      llc->second = {own, cache, pu.node, {}, size_of(machine, own, pu.os)};
    }
    llc->second.pus.set(pu.os);
  }
  for (auto& [key, llc] : found) machine.llcs.push_back(std::move(llc));
  for (Pu& pu : machine.pus) {
    for (std::size_t c = 0; c < machine.llcs.size(); ++c)
      if (machine.llcs[c].pus.test(pu.os)) pu.llc = LlcIndex(static_cast<int>(c));
  }
}

}  // namespace

void read_caches(hwloc_topology_t topology, Machine& machine) {
  add_caches(topology, machine);
  add_llcs(machine);
}

void read_kinds(hwloc_topology_t topology, Machine& machine) {
  const CpuSet all = machine.all_pus();
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  for (int kind = 0; count > 1 && kind < count; ++kind) {
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    unsigned infos = 0;
    hwloc_info_s* info = nullptr;
    int efficiency = 0;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), cpus, &efficiency, &infos,
                                &info, 0) == 0) {
      CoreKind core_kind{to_cpu_set(cpus) & all, ""};
      for (unsigned i = 0; i < infos; ++i)
        if (std::string_view(info[i].name) == "CoreType") core_kind.name = info[i].value;
      if (!core_kind.pus.empty()) machine.core_kinds.push_back(std::move(core_kind));
    }
    hwloc_bitmap_free(cpus);
  }
  if (machine.core_kinds.size() < 2) machine.core_kinds.clear();
}

}  // namespace ondeloc
