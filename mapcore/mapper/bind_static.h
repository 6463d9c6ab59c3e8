// SPDX-License-Identifier: Apache-2.0
// `--ondeloc=static:FILE` on the node: binds one task as the rankfile says.
#pragma once

#include <string>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"

namespace ondeloc {

struct StaticRequest {
  std::string file;
  WorldRank rank;
  int ranks = 0;  // of the step
  int pid = 0;
  std::string node;
  int node_index = 0;
  bool relative = false;
  std::string topology;       // empty: the host
  std::string cpu_bind_type;  // SLURM_CPU_BIND_TYPE of the task, may be empty
  std::string cpu_bind_list;  // SLURM_CPU_BIND_LIST
};

enum class Fault { kNone, kUser, kInternal };
struct StaticOutcome {
  Fault fault = Fault::kNone;
  std::string sentence;  // of the fault, one line
};

// The user's fault is what stands in the rankfile, or that it cannot be read; a machine that cannot
// be read or a mask that the kernel refuses is none. The whole file is checked by every task, so
// that all tell the same story: ranks that are missing, ranks the step does not have.
StaticOutcome bind_static(const StaticRequest& request);

// The CPUs of all tasks of the step on this node from Slurm's list of masks ("0x3,0xc"); empty when
// the type is not mask_cpu: or the list cannot be read.
CpuSet cpus_of_bind_list(const std::string& type, const std::string& list);

}  // namespace ondeloc
