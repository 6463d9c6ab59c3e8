// SPDX-License-Identifier: Apache-2.0
// Chooses the size of the buffers with which memory is measured: the caches must not hold them.
// Thread safety: pure function, but for what `free_on` does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "mapcore/base/result.h"
#include "mapcore/measure/memory_rate.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// Free bytes on a node by the kernel's number. Empty if unknown: then memory is not short.
using FreeMemory = std::function<std::optional<std::uint64_t>(int node)>;

// Bytes that the cgroup of this process may still take. Empty: the cgroup has no limit.
using FreeInCgroup = std::function<std::optional<std::uint64_t>()>;

// Bytes of each reader's buffer. The buffers of the readers of one last-level cache are together
// four times that cache and the caches below it, or less if memory is short: all buffers take at
// most half of what is free on a node and in the cgroup. Errors: so little memory is free that the
// caches would hold much of the buffers.
Result<std::size_t> buffer_size(const Machine& machine, std::span<const Reader> readers,
                                const FreeMemory& free_on, const FreeInCgroup& free_in_cgroup);

}  // namespace ondeloc
