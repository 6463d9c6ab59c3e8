// SPDX-License-Identifier: Apache-2.0
// One function per SPANK callback, by the process it runs in. entry.cc calls them and lets nothing
// out: no exception, no return code. Order and rights: the timeline of slurmstepd, design
// section 4.
#pragma once

#include <span>

#include "spank/slurm_spank.h"

namespace ondeloc {

using Arguments = std::span<char*>;  // the words after the plugin's path in plugstack.conf

// srun, before anything is launched.
void srun_user_init(spank_t spank, Arguments arguments);

// slurmstepd.
void stepd_init_post_opt(spank_t spank, Arguments arguments);  // as root
void stepd_user_init(spank_t spank);                           // effective uid: the user
void stepd_task_exit(spank_t spank);                           // as root
void stepd_exit(spank_t spank);                                // as root

// The task's own process, between fork and exec: user's ids, final cgroup, cpuset and mask.
void task_init(spank_t spank);

}  // namespace ondeloc
