// SPDX-License-Identifier: Apache-2.0
// The CPUs that a recorded run had, for a mapping that gives its ranks as many.
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct RankCpuSet {
  std::uint32_t rank = 0;  // in MPI_COMM_WORLD
  CpuSet cpus;             // as Slurm bound the task
};

// CPUs per rank: the smallest set of a rank, or an equal share if ranks had CPUs in common. 0 if no
// CPUs are known.
int recorded_share(std::span<const RankCpuSet> ranks);

}  // namespace ondeloc
