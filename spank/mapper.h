// SPDX-License-Identifier: Apache-2.0
// How the plugin calls ondeloc-mapper; the other side of mapcore/mapper/command_line.h. In
// task_init.
#pragma once

#include <cstdint>
#include <string>

#include "mapcore/base/result.h"

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

// Path, the arguments and the environment that both ways of calling share.
Program mapper_program(spank_t spank, const Step& step, const Task& task);
// Online: one mapper for the node, on all CPUs of the step, ending by itself.
Status start_mapper(spank_t spank, const Step& step, const Task& task);

}  // namespace ondeloc
