// SPDX-License-Identifier: Apache-2.0
// Mappings as text: the JSON of ondeloc, Open MPI rankfiles, srun's --cpu-bind lists, and a table
// for people. JSON and rankfiles can also be read back (mapcore/input reads files). A placement is
// the part of a mapping that a file can express: the PUs of every rank. Thread safety: pure
// functions.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/map/cost.h"

namespace ondeloc {

// placement[rank] = PUs by OS index.
using RankCpus = std::vector<CpuSet>;
// The PUs of each rank that a file places, by its number in MPI_COMM_WORLD. The ranks of one node
// may have any numbers, so the number of entries is bounded, not the numbers.
using WorldCpus = std::map<int, CpuSet>;
inline constexpr std::size_t kMostPlacedRanks = CpuSet::kMaxCpu;  // one on each CPU of a node

RankCpus placement_of(const SlotSet& slots, const Mapping& mapping);

inline constexpr std::size_t kMaxMappingBytes = 64u << 20;

// Parses the JSON that to_json() writes; only "ranks" is read. Errors: text that is not JSON, a
// rank that is missing, appears twice or is out of range, no PU, a PU that is not a number, more
// than kMostPlacedRanks ranks, brackets that nest deeper than kMaxJsonDepth.
Result<WorldCpus> parse_mapping_json(std::string_view text, std::string_view name);

// The ranks that a mapping places.
struct PlacedRanks {
  int count = 0;             // 0 .. count - 1
  bool may_be_more = false;  // further ranks may follow, without a gap
  std::vector<int> needed;   // ranks that must have PUs, ascending; empty: all
  bool needs(int rank) const {
    return needed.empty() || std::binary_search(needed.begin(), needed.end(), rank);
  }
};

// Parses a rankfile whose ranks are all on one node. A file of one rank with lines for its threads
// places these threads; one that the file leaves out has the CPUs of the rank. Errors about PUs
// that the host does not have say that --topology names another machine.
Result<WorldCpus> parse_rankfile_placement(std::string_view text, const std::string& name,
                                           const Machine& machine, const CpuSet& usable);

// Adds a rank that a file places. Error: the file places too many.
Status place_rank(WorldCpus& placement, int rank, CpuSet pus);

// Checks that the ranks that need PUs have some, all of them in `usable`. A rank that needs none
// may have an empty set, or be left out.
Status check_placement(const WorldCpus& placement, const Machine& machine, const CpuSet& usable,
                       PlacedRanks ranks);

// Returns the kernel's number of a NUMA node as text for people, "none" for PUs that belong to no
// node (-1).
std::string numa_name(int os);

// The names of the ranks of a placement. On a node of a step of several nodes, other ranks exist
// too.
struct RankNames {
  std::vector<int> world;          // number of each rank in MPI_COMM_WORLD; empty: rank i is i
  std::string host = "localhost";  // in a rankfile
  // The entries are not ranks but the threads of this rank, by number.
  std::optional<int> threads_of = {};
  int of(std::size_t rank) const { return world.empty() ? static_cast<int>(rank) : world[rank]; }
};

struct MappingReport {
  std::string algorithm;
  Cost cost;
  int migrations = 0;
  double seconds = 0;  // time that computing the mapping took
};

// {"algorithm","node","ranks":[{"rank","numa","pus"}],"cost":{...},"seconds"}. numa is the OS
// index, -1 if the PUs belong to no NUMA node. node is written only if `names` has world numbers.
std::string to_json(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                    const RankNames& names = {});
std::string to_table(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                     const RankNames& names = {});

// Writes "rank R=HOST slot=CORES", as mpirun and --ondeloc=static: read it. CORES are logical core
// numbers of the whole machine or, with `relative`, of the machine as restricted to `usable` ("+n0"
// would need an allocation). Threads of a rank are written as the rank with the cores of all its
// threads, then "rank R thread T slot=CORES" for each, which mpirun does not read. `relative` also
// marks the file as numbered on the restricted machine. If the machine has no cores, CORES are
// single PUs. Errors: a slot that is not whole cores (a rankfile cannot name threads), or a list
// longer than the 63 characters that mpirun keeps.
Result<std::string> to_rankfile(const Machine& machine, const CpuSet& usable,
                                const RankCpus& placement, const RankNames& names = {},
                                bool relative = false);

// Returns "map_cpu:0,2" if every slot is one PU, else "mask_cpu:0x3,0xc": an argument of srun
// --cpu-bind.
std::string to_cpu_bind(const RankCpus& placement);

}  // namespace ondeloc
