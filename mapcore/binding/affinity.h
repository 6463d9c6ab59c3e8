// SPDX-License-Identifier: Apache-2.0
// Masks of threads as the kernel keeps them.
// Thread safety: no state. Errors carry errno: ESRCH (gone), EPERM, EINVAL (no CPU left in the
// cpuset).
#pragma once

#include <sys/types.h>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"

namespace ondeloc {

Result<CpuSet> get_affinity(pid_t tid);  // 0: the calling thread
Status set_affinity(pid_t tid, const CpuSet& cpus);

}  // namespace ondeloc
