// SPDX-License-Identifier: Apache-2.0
// Pages of a rank that changed its NUMA node: memory=follow|stay|auto.
// Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "mapcore/base/result.h"

namespace ondeloc {

// Moves the pages that `pid` has on node `from` (kernel's number) to node `to`: migrate_pages(2).
// Returns the pages that could not be moved. Blocks for as long as the copying takes.
Result<long> move_pages_between(pid_t pid, int from, int to);

// MemFree of a node in bytes, from /sys/devices/system/node; empty where unknown.
std::optional<std::uint64_t> free_bytes_of_node(int node);

// kernel.numa_balancing; false where the kernel has no such setting.
bool numa_balancing_on();

}  // namespace ondeloc
