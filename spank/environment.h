// SPDX-License-Identifier: Apache-2.0
// What the ranks find in their environment.
#pragma once

#include "mapcore/base/result.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

// In user_init, where a change reaches every task. Where ranks are watched: ONDELOC_STEP,
// LD_PRELOAD (ours after the user's), and ASAN_OPTIONS so that gcc's address sanitizer bears that.
// ONDELOC_STEP says whether the latter was set here.
// REQUIRES: step.listening is decided.
Status set_environment(spank_t spank, const Step& step);
// In a task that is bound once and for all, to every CPU that it can have: Open MPI 4 (where a site
// or user has a policy in mca-params.conf) and PSM2 take that for unbound and would bind it. Sets
// what keeps them from it, unless the user has set it, and says so in ONDELOC_STEP. No other task
// needs it, and none should have it: mpirun inside the task would not bind its ranks.
Status keep_task_unbound(spank_t spank, const Step& step);
// Takes out what all that has left in a job or step that was submitted from inside a step, before
// anything is set: it belongs to another step's ranks. The user's own settings stay.
void drop_left_over(spank_t spank);
// In a task whose mount namespace hides the rank library: the loader would complain in every
// process.
void drop_preload(spank_t spank, const Step& step);

}  // namespace ondeloc
