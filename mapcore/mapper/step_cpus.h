// SPDX-License-Identifier: Apache-2.0
// The CPUs that the step has: those of its ranks, and idle CPUs that the ranks may use too.
// Thread safety: reads /proc, keeps nothing.
#pragma once

#include <vector>

#include "mapcore/step/ranks.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// The mask of each rank as Slurm set it.
std::vector<CpuSet> initial_masks(const Ranks& ranks);

// The cpuset in which the kernel keeps the step; empty if the kernel does not enforce it.
CpuSet enforced_cpuset(const Ranks& ranks);

// The CPUs of `cpuset` that are in no mask and may become slots (idle_pus() in map/slots.h).
CpuSet idle_cpus(const Machine& machine, const std::vector<CpuSet>& masks, const CpuSet& cpuset);

}  // namespace ondeloc
