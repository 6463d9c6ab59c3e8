// SPDX-License-Identifier: Apache-2.0
// `--ondeloc=static:FILE` on the node: binds one task as the rankfile or the layout says.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/options/mapper_arguments.h"

namespace ondeloc {

enum class Fault { kNone, kUser, kInternal };
struct StaticOutcome {
  Fault fault = Fault::kNone;
  std::string sentence;  // one line: the fault, or without a fault a warning; may be empty
  CpuSet cpus = {};      // that the task was bound to
  // The CPUs of each of its threads, by number; none: the file has no lines for threads.
  std::vector<CpuSet> threads = {};
};

// A rankfile that is wrong or cannot be read, and a layout without room for the tasks, are the
// user's fault. A machine that cannot be read and
// a mask that the kernel refuses are not. Every task checks the whole file, for ranks that are
// missing and ranks that the step does not have, so that all tasks say the same. The warning: the
// file gives the rank fewer CPUs than srun -c asked for, or puts it away from its GPU or network
// adapter (bind_warning.h). Ranks on several nodes that have the same slots are warned about on the
// first of these nodes. The task is bound to the CPUs of all its threads; the caller follows the
// threads.
StaticOutcome bind_static(const BindArguments& call);

}  // namespace ondeloc
