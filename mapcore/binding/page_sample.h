// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of the own memory of a process, from an even sample of the pages of its private
// writable anonymous mappings. move_pages(2) without target nodes only looks at the pages that it
// is given. To write numa_maps, the kernel walks all page tables of the process and keeps it from
// mapping memory for as long. Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mapcore/binding/pages.h"

namespace ondeloc {

// Pages found on each NUMA node, kernel's numbers.
using PagesByNode = std::map<int, std::uint64_t>;

// At most `most` addresses of pages, evenly over the ranges, ascending. REQUIRES: most > 0.
std::vector<std::uintptr_t> spread_addresses(std::span<const AddressRange> ranges,
                                             std::uint64_t page_bytes, std::size_t most);

// Empty if the process is gone, the kernel has no NUMA or does not let this user ask, or if fewer
// pages were found than a share can be computed from. Pages that were never touched do not count.
std::optional<PagesByNode> sample_pages(pid_t pid);

// The least share of the pages that is far from the threads, if the threads are on the nodes in
// these shares (sum 1) and each uses as many pages as any other: the pages of a node beyond the
// share of the threads there. 0 if there are no pages.
double far_share(const PagesByNode& pages, const std::map<int, double>& threads);

}  // namespace ondeloc
