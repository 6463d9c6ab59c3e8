// SPDX-License-Identifier: Apache-2.0
// Pages of a process on one NUMA node, moved to another a piece at a time. migrate_pages(2) copies
// all of them in one call, which no signal ends: with a rank of 100 GB a cancelled step would wait
// for it longer than Slurm does (UnkillableStepTimeout) before it drains the node.
// Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

struct PageRange {
  std::uint64_t begin = 0, end = 0;  // addresses
  std::uint64_t on_node = 0;         // bytes, at most
  bool own = false;                  // private and anonymous: only this process has the pages
  bool operator==(const PageRange&) const = default;
};

struct PagesOnNode {
  std::vector<PageRange> ranges;
  // Some more are there by an interleave policy (numactl --interleave, numa_alloc_interleaved,
  // mbind): somebody wanted them spread, and a move would pile their share onto the new node.
  bool interleaved = false;
};

// The mappings with pages on `node` (kernel's number), from the texts of /proc/pid/numa_maps and
// /proc/pid/maps. What is in one of them only came or went meanwhile and is left out.
PagesOnNode pages_on_node(std::string_view numa_maps, std::string_view maps, int node);

// True when looking at each page of the ranges costs more than it is worth: memory that a process
// reserved and does not use.
bool is_sparse(const std::vector<PageRange>& ranges);

// move_pages(2) for those pages in the ranges that are on node `from`. Returns how many pages that
// only the process has stayed there.
Result<long> move_ranges(pid_t pid, const std::vector<PageRange>& ranges, int from, int to);

}  // namespace ondeloc
