// SPDX-License-Identifier: Apache-2.0
// CPUs as words of a mask: word w, bit b is CPU 64 w + b. Thread safety: pure, or about the caller.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ondeloc {

using CpuWords = std::vector<std::uint64_t>;  // without trailing zero words

// The caller's affinity mask, empty when the kernel refuses.
CpuWords own_cpus();
// Whether that is all that the kernel would let the caller have, its cpuset. The mask is another
// one for a moment.
bool has_all_cpus();
// The union of the masks of all tasks on this node, from SLURM_CPU_BIND_LIST of type mask_cpu
// ("0x3,0xC", most significant digit first); empty when the text is anything else.
CpuWords cpus_of_masks(std::string_view list);
CpuWords join(CpuWords a, const CpuWords& b);

}  // namespace ondeloc
