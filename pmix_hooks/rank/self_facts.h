// SPDX-License-Identifier: Apache-2.0
// The facts about this process in ATTACH and SAMPLE, read from the kernel. Nothing is allocated; a
// fact that cannot be read stays 0, empty or -1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ondeloc {

// Allowed CPUs in Linux list form, cut at a comma when `text` is too small.
void allowed_cpus(char* text, std::size_t size);
// Bit k: NUMA node k (OS index, 0 to 63) has one of the allowed CPUs.
std::uint64_t allowed_nodes();
std::uint32_t thread_count();
void current_place(std::int32_t& cpu, std::int32_t& node);

}  // namespace ondeloc
