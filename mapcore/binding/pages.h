// SPDX-License-Identifier: Apache-2.0
// Finds the pages that a process has on a NUMA node, from the kernel's list of its mappings.
// Thread safety: no state.
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
  // The node has further pages by an interleave policy (numactl --interleave,
  // numa_alloc_interleaved, mbind). They are left out: the user wanted them spread, and a move
  // would pile them up on the new node.
  bool interleaved = false;
};

struct AddressRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const AddressRange&) const = default;
};
// The mappings that only this process writes and that are no file's: heap, stacks, anonymous
// memory. `maps`: the text of /proc/pid/maps.
std::vector<AddressRange> own_ranges(std::string_view maps);

// The mappings with pages on `node` (kernel's number), from the texts of /proc/pid/numa_maps and
// /proc/pid/maps. A mapping that only one of them has came or went meanwhile and is left out.
PagesOnNode pages_on_node(std::string_view numa_maps, std::string_view maps, int node);

// True if looking at each page of the ranges costs more than it is worth, because the process
// reserved memory that it does not use.
bool is_sparse(const std::vector<PageRange>& ranges);

}  // namespace ondeloc
