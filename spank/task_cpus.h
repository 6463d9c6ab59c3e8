// SPDX-License-Identifier: Apache-2.0
// The affinity mask of the calling task. Thread safety: about the calling thread only.
#pragma once

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

// The caller's affinity mask, empty if the kernel refuses to tell.
CpuSet own_cpus();
// True if the caller's mask is all that the kernel would grant, its whole cpuset. Changes the mask
// for a moment.
bool has_all_cpus();

}  // namespace ondeloc
