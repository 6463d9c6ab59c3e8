// SPDX-License-Identifier: Apache-2.0
// Pages of a rank that changed its NUMA node: memory=follow|stay|auto.
// Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"

namespace ondeloc {

struct MovedPages {
  long left = 0;             // could not be moved
  bool interleaved = false;  // some stayed because a policy interleaves them: see pages.h
};

// Moves the pages that `pid` has on node `from` (kernel's number) to node `to`, a piece at a time,
// so that a signal can end it: see pages.h. Where the kernel does not tell where pages are, or a
// process has reserved far more than it uses, in one piece: migrate_pages(2), which knows nothing
// of policies; where one interleaves, what is used sparsely stays. Blocks for as long as the
// copying takes.
Result<MovedPages> move_pages_between(pid_t pid, int from, int to);

// What to say of the pages that could not be moved, of a process that has `bytes` of its own; empty
// where that is less than a tenth. Pages that a network adapter or a GPU has pinned stay.
std::string about_pages_left(long pages, std::uint64_t bytes);

// Bytes that a node can take in, from /sys/devices/system/node; empty where unknown. Free memory
// and the file cache that the kernel drops first, as far as it is clean: a node that has run jobs
// for a day has hardly any memory that is free.
std::optional<std::uint64_t> room_on_node(int node);
// The same from the text of that node's meminfo.
std::optional<std::uint64_t> room_in_meminfo(std::string_view meminfo);

// kernel.numa_balancing; false where the kernel has no such setting.
bool numa_balancing_on();

}  // namespace ondeloc
