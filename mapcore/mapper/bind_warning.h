// SPDX-License-Identifier: Apache-2.0
// Tells, before the application runs, that a rankfile binds a rank away from its GPU or network
// adapter. Thread safety: pure functions.
#pragma once

#include <string>

#include "mapcore/base/cpu_set.h"
#include "mapcore/options/mapper_arguments.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

struct BoundRank {
  CpuSet pus;     // CPUs that the rank gets
  CpuSet usable;  // CPUs of the step on this node
  // CPUs of the step that no rank of the file gets; empty if that is not known.
  CpuSet unused;
};

// Returns a sentence that does not name the file if one of these holds, else an empty text:
//   GPU       Slurm or the user gave the rank GPUs (GpuUse's source slurm), their place is known,
//             the step has CPUs near them, and not all CPUs of the rank are near them;
//   adapter   the step is on several nodes, the rank surely sends through one adapter, the rank's
//             CPUs are not near it, and the file leaves CPUs near it unused. Without such CPUs some
//             rank has to be far, and which one should be is not known before it sends.
// nic=auto chooses later, and a near adapter if there is one.
std::string warning_of_devices(const BindArguments& call, const Machine& machine,
                               const BoundRank& rank);

}  // namespace ondeloc
