// SPDX-License-Identifier: Apache-2.0
// Open MPI rankfiles, 4.x and 5.x forms:
//
//   file  := { blank | comment | entry }      comments: # ..., // ..., /* ... */
//   entry := rank INT = host slot|slots = list
//          | rank INT thread INT slot|slots = list     ondeloc's own; mpirun does not know it
//   host  := name | user@name (user dropped) | +nINT (X-th node of the step, from 0)
//   list  := item { ; item }
//   item  := [S|s|P|p] RANGES                 packages
//          | [S|s|P|p] ID : [C|c] CORES { : [C|c] CORES }   cores inside package ID
//          | RANGES                           cores
//   RANGES := INT | INT-INT { , ... }         CORES := * | RANGES
//
// Numbers are logical, counted in the whole machine as in mpirun, or with `relative` inside the
// step's CPUs. Thread 0 of a rank is its main thread; the others count in the order in which the
// rank creates them. A file with a line kRelativeMark, which is a comment for mpirun, asks for that
// by itself. A byte order mark of UTF-8 may come first. `0:0,1` means package 0, cores 0 and 1, as
// documented (Open MPI 4.x reads it as core 0 alone). If the machine has no cores, a bare number is
// a PU. Bounds: kMaxRankfileBytes, ranks below 2^24, threads below kMaxThreads, indexes below
// CpuSet::kMaxCpu. Errors: one sentence with the line. Thread safety: pure functions but
// read_rankfile, which reads a file (as the user, never as root).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/base/result.h"

namespace ondeloc {

inline constexpr std::size_t kMaxRankfileBytes = 16u << 20;

inline constexpr int kMaxThreads = 4096;  // of a rank

inline constexpr std::string_view kRelativeMark =
    "# ondeloc: numbers count inside the CPUs of the step (relative)";

struct IndexRange {
  int first = 0;
  int last = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

struct SlotItem {
  int package = -1;                // -1: bare cores
  bool whole_package = false;      // ranges are packages
  std::vector<IndexRange> ranges;  // empty with package >= 0: all cores of it ("*")
  friend bool operator==(const SlotItem&, const SlotItem&) = default;
};

struct ThreadEntry {
  int line = 0;
  std::vector<SlotItem> slots;
};

struct RankfileEntry {
  WorldRank rank;
  int line = 0;
  std::string host;  // empty when node >= 0
  int node = -1;     // "+nX"
  std::vector<SlotItem> slots;
  std::map<int, ThreadEntry> threads = {};  // by number; a thread may be left out
};

struct Rankfile {
  std::map<WorldRank, RankfileEntry> entries;
  bool relative = false;  // it has kRelativeMark
};

// Messages contain `name`. A rank or a thread with two entries is an error that names both lines.
// So is a thread of a rank that has no entry.
Result<Rankfile> parse_rankfile(std::string_view text, std::string_view name);
Result<Rankfile> read_rankfile(const std::string& path);

}  // namespace ondeloc
