// SPDX-License-Identifier: Apache-2.0
// What the ranks find in their environment. Called in user_init, where a change reaches every task.
#pragma once

#include "mapcore/base/result.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

// ONDELOC_STEP, LD_PRELOAD (ours after the user's) and what keeps Open MPI and PSM2 from binding
// the ranks themselves, unless the user has set it. A step that is only bound gets the last alone.
Status set_environment(spank_t spank, const Step& step);
// In a task whose mount namespace hides the rank library: the loader would complain in every
// process.
void drop_preload(spank_t spank, const Step& step);

}  // namespace ondeloc
