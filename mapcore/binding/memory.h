// SPDX-License-Identifier: Apache-2.0
// Room on NUMA nodes and notes on pages, for memory=follow and memory=auto, the memory policy, and
// the nodes whose memory the cgroup has. Thread safety: no state. `root` lets tests read a made-up
// tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ondeloc {

// The note on pages that could not be moved, of a process that has `bytes` of its own; empty if
// they are less than a tenth. Pages that a network adapter or a GPU has pinned stay.
std::string about_pages_left(long pages, std::uint64_t bytes);

// Bytes that a node can take in, from /sys/devices/system/node; empty if unknown: free
// memory and the clean part of the file cache that the kernel drops first. A node that has run jobs
// for a day has hardly any free memory.
std::optional<std::uint64_t> room_on_node(int node);
// The same from the text of that node's meminfo.
std::optional<std::uint64_t> room_in_meminfo(std::string_view meminfo);

// No pages are moved into the last part of the room: the kernel keeps some of it for itself, and
// the ranks need memory to go on.
inline constexpr std::uint64_t kSpareRoom = std::uint64_t{32} << 20;

// False if the cgroup (cpuset.mems) keeps this process from the memory of the node.
bool may_use_memory_of(int node, const std::string& root = "");

// The name of the calling thread's memory policy, such as "bind". Empty if its pages lie where it
// touches them first: the policy is the default one, local, or preferred without a node.
std::string other_memory_policy();

// The value of kernel.numa_balancing, such as "1"; empty where the kernel has no such setting.
std::optional<std::string> numa_balancing();
// True if that value makes the kernel balance processes over nodes: bit 0. Other bits are for tiers
// of memory (the kernel's Documentation/admin-guide/sysctl/kernel.rst).
bool balances_over_nodes(std::string_view setting);
// The same of this kernel; false where it has no such setting.
bool numa_balancing_on();

}  // namespace ondeloc
