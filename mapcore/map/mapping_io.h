// SPDX-License-Identifier: Apache-2.0
// Mappings as text: JSON (ours), Open MPI rankfiles, srun's --cpu-bind lists, a table for people;
// and reading the first two back. A placement is what a file can say: the PUs of every rank.
// Thread safety: pure functions but read_placement, which reads a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/map/cost.h"

namespace ondeloc {

// placement[rank] = PUs by OS index; empty where a rankfile leaves the rank out.
using RankCpus = std::vector<CpuSet>;

RankCpus placement_of(const SlotSet& slots, const Mapping& mapping);

inline constexpr std::size_t kMaxMappingBytes = 64u << 20;

// The JSON that to_json writes; only "ranks" is looked at. Errors: not JSON, a rank twice, missing
// or out of range, no PU, a PU that is no number, brackets that nest deeper than kMaxJsonDepth.
Result<RankCpus> parse_mapping_json(std::string_view text, std::string_view name);

// Who has a place in a mapping.
struct PlacedRanks {
  int count = 0;             // 0 .. count - 1
  bool may_be_more = false;  // and others behind them, without a gap
  std::vector<int> needed;   // only these must, ascending; empty: all
};

// A file of either kind, told apart by its first character ('{' = JSON), "-" for standard input.
// Places are on PUs in `usable`. A rank that needs none may have an empty one, or be left out
// behind the last that has one. For the command line: an error about PUs that the host has not got
// says that --topology names another machine.
Result<RankCpus> read_placement(const std::string& path, const Machine& machine,
                                const CpuSet& usable, PlacedRanks ranks);

// The kernel's number of a NUMA node for people, "none" for the PUs that belong to no node (-1).
std::string numa_name(int os);

// What the ranks of a placement are called: on a node of a step on several there are others too.
struct RankNames {
  std::vector<int> world;          // each one's number in MPI_COMM_WORLD; empty: rank i is i
  std::string host = "localhost";  // in a rankfile
  int of(std::size_t rank) const { return world.empty() ? static_cast<int>(rank) : world[rank]; }
};

struct MappingReport {
  std::string algorithm;
  Cost cost;
  int migrations = 0;
  double seconds = 0;  // computing the mapping took
};

// {"algorithm","node","ranks":[{"rank","numa","pus"}],"cost":{...},"seconds"}; numa = OS index, -1
// where the PUs belong to no NUMA node; node: only with names of one.
std::string to_json(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                    const RankNames& names = {});
std::string to_table(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                     const RankNames& names = {});

// "rank R=HOST slot=CORES", logical core numbers of the machine, the whole one or as restricted to
// `usable`, as mpirun and --ondeloc=static: (with relative: the restricted one) read them ("+n0"
// would need an allocation); `relative` marks the file as the restricted one's; single PUs where
// the machine has no cores. Errors: a slot that is not whole cores (threads cannot be written in a
// rankfile), or a list above the 63 characters that mpirun keeps.
Result<std::string> to_rankfile(const Machine& machine, const CpuSet& usable,
                                const RankCpus& placement, const RankNames& names = {},
                                bool relative = false);

// "map_cpu:0,2" where every slot is one PU, else "mask_cpu:0x3,0xc": an argument of srun
// --cpu-bind.
std::string to_cpu_bind(const RankCpus& placement);

}  // namespace ondeloc
