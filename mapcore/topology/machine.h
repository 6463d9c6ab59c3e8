// SPDX-License-Identifier: Apache-2.0
// One compute node as plain data without hwloc: PUs with their places in the tree of domains (core,
// L2, last-level cache, NUMA node, package), memories, distances and bandwidths. Everything that
// maps reads this and nothing else.
//
// A NUMA node here is memory with PUs. If several memories have the same PUs (HBM beside DDR), the
// node is the one without a special kind, of several the lowest OS index, but no empty one; the
// others are in `other_memories`, as are GPU memories and memories without PUs. PUs that belong to
// no NUMA node form one node of their own (os = -1).
// Thread safety: a value; const access from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/indexed_vector.h"
#include "mapcore/devices/device.h"

namespace ondeloc {

// Levels of the tree, outermost first. kBoard is an hwloc Group above the packages.
enum class Level { kMachine, kBoard, kPackage, kNuma, kL3, kL2, kL1, kCore, kPu };
inline constexpr int kLevelCount = 9;

// The place of a PU or a slot: one object of each kind of domain. -1: the machine has no such
// object.
struct Seat {
  int core = -1;
  int l2 = -1;
  LlcIndex llc{-1};
  NodeIndex node{-1};
  int package = -1;  // the number of the NUMA node if the machine has no packages
  friend bool operator==(const Seat&, const Seat&) = default;
};

// The smallest domain that two seats share. The order is that of the distance of the two.
enum class Domain { kCore, kL2, kLlc, kNode, kPackage, kMachine };
inline constexpr int kDomainCount = 6;
const char* domain_name(Domain domain);  // "core", "L2", "LLC", "NUMA node", "package", "machine"
const char* domain_key(Domain domain);   // "core", "l2", "llc", "node", "package", "machine"
std::optional<Domain> domain_of(std::string_view key);
inline Domain shared_domain(const Seat& a, const Seat& b) {
  if (a.llc == b.llc && a.node == b.node) {
    if (a.core >= 0 && a.core == b.core) return Domain::kCore;
    return a.l2 >= 0 && a.l2 == b.l2 ? Domain::kL2 : Domain::kLlc;
  }
  if (a.package != b.package) return Domain::kMachine;
  return a.node == b.node ? Domain::kNode : Domain::kPackage;
}

struct Pu {
  PuOs os;
  PuLogical logical;  // in the whole machine, allowed or not
  NodeIndex node;     // its NUMA node in Machine::nodes
  // ancestor[level] = whole-machine logical index of the object of that level that holds this PU
  // (kNuma: position in Machine::nodes before any restriction); -1 where the machine has no such
  // level.
  std::array<int, kLevelCount> ancestor{};
  LlcIndex llc{-1};  // its last-level cache in Machine::llcs
  int at(Level level) const { return ancestor[static_cast<std::size_t>(level)]; }
};

struct NumaNode {
  int os = -1;  // kernel's node number; -1: PUs without a NUMA node
  CpuSet pus;
  double bandwidth = 0;      // bytes per second to local memory, 0 where hwloc has no attribute
  std::uint64_t memory = 0;  // bytes, 0 if unknown
  std::string kind = {};     // hwloc's subtype or tier, such as "DRAM" or "HBM"; often empty
  int package = -1;          // as in Seat
};

// The last cache before memory that several cores can share: L3, else a shared L2, else none. If a
// cache spans NUMA nodes, each node has its own part. If there is no such cache, the whole NUMA
// node stands for it (level kNuma).
struct Llc {
  Level level = Level::kNuma;
  int logical = -1;  // of the hwloc object
  NodeIndex node;
  CpuSet pus;
  std::uint64_t bytes = 0;  // of the whole cache
};

struct Cache {
  Level level = Level::kL1;
  std::uint64_t bytes = 0;
  CpuSet pus;
};

// Memory that ranks are not mapped to.
struct OtherMemory {
  int os = -1;
  std::string kind;  // "HBM", "GPUMemory", ...; empty where hwloc does not tell
  std::uint64_t memory = 0;
  CpuSet near;  // PUs that are local to it; empty: none
};

// PUs of one kind of core, slowest kind first. Machines with one kind have none of these.
struct CoreKind {
  CpuSet pus;
  std::string name;  // such as "IntelAtom"; empty where hwloc does not tell
};

struct Machine {
  std::vector<Pu> pus;                       // ascending logical index
  IndexedVector<NodeIndex, NumaNode> nodes;  // ascending smallest logical PU
  IndexedVector<LlcIndex, Llc> llcs;         // ascending node, then smallest logical PU
  // Row-major nodes.size() x nodes.size(), as hwloc reports NUMA latency (10 = local); 0 for a pair
  // that it does not tell, empty where it tells none.
  std::vector<double> distances;
  // Row-major bytes per second from node k (initiator) to the memory of node l; 0 and empty as
  // in `distances`.
  std::vector<double> link_bandwidth;
  CpuSet allowed;      // PUs the kernel lets this process use
  CpuSet offline;      // PUs that the machine has and the kernel does not run
  std::string source;  // "host", the file name, or the synthetic string
  std::string model;   // of the CPU, as the kernel names it; empty where unknown
  std::vector<Cache> caches;
  std::vector<OtherMemory> other_memories;
  std::vector<CoreKind> core_kinds;
  std::vector<Device> devices;  // network adapters, then GPUs
  std::shared_ptr<const Machine> part_of;  // the machine before any restriction; null: this one

  const Machine& whole() const { return part_of ? *part_of : *this; }
  const Pu* find(PuOs os) const;  // nullptr where there is none
  const Pu* find(PuLogical index) const;
  CpuSet all_pus() const;
  NodeIndex node_of(PuOs os) const;  // {-1} where there is none
  Seat seat_of(const Pu& pu) const;
  // Some NUMA node has more than one last-level cache.
  bool splits_nodes() const { return llcs.size() > nodes.size(); }
};

// The PUs of each core, by the core's number. A PU without a core counts as one.
std::vector<CpuSet> core_sets(const Machine& machine);

// Only the PUs in `keep`; NUMA nodes and caches left without a PU vanish, distances shrink with
// them. Other memories, devices and offline PUs stay. Logical indexes and ancestors stay those of
// the whole machine, of which the result shares a copy.
Machine restrict_machine(const Machine& machine, const CpuSet& keep);

}  // namespace ondeloc
