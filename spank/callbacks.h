// SPDX-License-Identifier: Apache-2.0
// One function for each SPANK callback, grouped by the process that it runs in. entry.cc calls
// them and passes neither exceptions nor return codes on to Slurm.
#pragma once

#include <span>

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

using Arguments = std::span<char*>;  // the words after the plugin's path in plugstack.conf

// In srun, before anything is launched.
void srun_user_init(spank_t spank, Arguments arguments);

// In slurmstepd.
void stepd_init_post_opt(spank_t spank, Arguments arguments, Step& step);  // as root
void stepd_user_init(spank_t spank, Step& step);  // the effective uid is the user's
void stepd_task_post_fork(Step& step);            // as root; no task has executed its program yet
void stepd_task_exit(spank_t spank, Step& step);  // as root
void stepd_exit(spank_t spank, Step& step);       // as root

// In the task's own process, between fork and exec: the ids are the user's, and cgroup, cpuset and
// mask are final.
void task_init(spank_t spank, Step& step);

}  // namespace ondeloc
