// SPDX-License-Identifier: Apache-2.0
// Calls ondeloc-mapper, by mapcore/options/mapper_arguments.h. In task_init.
#pragma once

#include <cstdint>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/options/mapper_arguments.h"

#include "spank/child.h"
#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

struct Task {
  std::uint32_t local_rank = 0;
  std::uint32_t world_rank = 0;
  std::uint32_t node_index = 0;  // among the nodes of the step
  std::string node;              // SLURMD_NODENAME
};

// The program with its words and the part of the task's environment that it needs.
Program mapper_program(spank_t spank, const Step& step, ProgramWords words);
// SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST of the task, empty if unset: with task/affinity the
// second lists the masks of all tasks of the step on this node.
struct CpuBind {
  std::string type, list;
};
CpuBind cpu_bind_of_task(spank_t spank);
// A call that only looks whether the profile can be written.
Program check_program(spank_t spank, const Step& step, const Task& task);
// Starts the one mapper of the node, on all CPUs of the step that Slurm lists. It adds those of the
// ranks, and ends by itself.
Status start_mapper(spank_t spank, const Step& step, const Task& task);

}  // namespace ondeloc
