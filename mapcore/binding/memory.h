// SPDX-License-Identifier: Apache-2.0
// What memory=follow|auto has to know of nodes, and what it has to say.
// Thread safety: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ondeloc {

// What to say of the pages that could not be moved, of a process that has `bytes` of its own; empty
// where that is less than a tenth. Pages that a network adapter or a GPU has pinned stay.
std::string about_pages_left(long pages, std::uint64_t bytes);

// Bytes that a node can take in, from /sys/devices/system/node; empty where unknown. Free memory
// and the file cache that the kernel drops first, as far as it is clean: a node that has run jobs
// for a day has hardly any memory that is free.
std::optional<std::uint64_t> room_on_node(int node);
// The same from the text of that node's meminfo.
std::optional<std::uint64_t> room_in_meminfo(std::string_view meminfo);

// Of that room pages are not moved into the last: the kernel keeps some of it for itself, and ranks
// have to go on.
inline constexpr std::uint64_t kSpareRoom = std::uint64_t{32} << 20;

// kernel.numa_balancing; false where the kernel has no such setting.
bool numa_balancing_on();

}  // namespace ondeloc
