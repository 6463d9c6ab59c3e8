// SPDX-License-Identifier: Apache-2.0
// What ondeloc knows of one compute node, as plain data without hwloc: PUs with their places in the
// tree, NUMA nodes, distances and bandwidths. Everything that maps reads this and nothing else.
//
// NUMA nodes that share one cpuset (HBM beside DDR) count once, by the lowest OS index; PUs that
// belong to no NUMA node form one node of their own (os = -1); memory-only nodes are left out.
// Thread safety: a value; const access from any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"

namespace ondeloc {

// Levels of the tree, outermost first. kBoard is an hwloc Group above the packages.
enum class Level { kMachine, kBoard, kPackage, kNuma, kL3, kL2, kL1, kCore, kPu };
inline constexpr int kLevelCount = 9;

struct Pu {
  PuOs os;
  PuLogical logical;  // in the whole machine, allowed or not
  NodeIndex node;     // its NUMA node in Machine::nodes
  // ancestor[level] = whole-machine logical index of the object of that level that holds this PU
  // (kNuma: position in Machine::nodes before any restriction); -1 where the machine has no such
  // level.
  std::array<int, kLevelCount> ancestor{};
  int at(Level level) const { return ancestor[static_cast<std::size_t>(level)]; }
};

struct NumaNode {
  int os = -1;  // kernel's node number; -1: PUs without a NUMA node
  CpuSet pus;
  double bandwidth = 0;  // bytes per second to local memory, 0 where hwloc has no attribute
};

struct Machine {
  std::vector<Pu> pus;          // ascending logical index
  std::vector<NumaNode> nodes;  // ascending smallest logical PU
  // Row-major nodes.size() x nodes.size(), as hwloc reports NUMA latency (10 = local); 0 for a pair
  // that it does not tell, empty where it tells none.
  std::vector<double> distances;
  // Row-major bytes per second from node k (initiator) to the memory of node l; 0 and empty as
  // in `distances`.
  std::vector<double> link_bandwidth;
  CpuSet allowed;      // PUs the kernel lets this process use
  std::string source;  // "host", the file name, or the synthetic string

  const Pu* find(PuOs os) const;  // nullptr where there is none
  const Pu* find(PuLogical index) const;
  CpuSet all_pus() const;
  NodeIndex node_of(PuOs os) const;  // {-1} where there is none
};

// Only the PUs in `keep`; NUMA nodes left without a PU vanish, distances shrink with them. Logical
// indexes and ancestors stay those of the whole machine.
Machine restrict_machine(const Machine& machine, const CpuSet& keep);

}  // namespace ondeloc
