// SPDX-License-Identifier: Apache-2.0
// Where the pages of a process are, of those on one NUMA node: what the kernel tells of its
// mappings. Thread safety: no state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

}  // namespace ondeloc
