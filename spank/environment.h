// SPDX-License-Identifier: Apache-2.0
// Environment variables of the ranks.
#pragma once

#include "mapcore/base/result.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

// In user_init, where a change reaches every task. If ranks are watched, sets ONDELOC_STEP, appends
// the rank library to the user's LD_PRELOAD, and sets ASAN_OPTIONS so that gcc's address sanitizer
// accepts the preload. ONDELOC_STEP tells whether ASAN_OPTIONS was set here.
// REQUIRES: step.state.listening is decided.
Status set_environment(spank_t spank, const Step& step);

// For a task that static has bound to every CPU that it can have. Open MPI 4 (if a site or user has
// a policy in mca-params.conf) and PSM2 take such a task for unbound and would bind it. Sets the
// variables that keep them from it, unless the user has set them, and notes them in ONDELOC_STEP.
// Other tasks must not have these variables: mpirun in a task would not bind its ranks.
Status keep_task_unbound(spank_t spank, const Step& step);

// Removes settings inherited from an enclosing step (a job or step that was submitted from inside
// one) before this step sets its own. The user's settings stay.
void remove_inherited(spank_t spank);

// For a task whose mount namespace hides the rank library: the loader would complain in every
// process.
void remove_preload(spank_t spank, const Step& step);

}  // namespace ondeloc
