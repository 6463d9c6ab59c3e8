// SPDX-License-Identifier: Apache-2.0
// What the ranks find in their environment. Called in user_init, where a change reaches every task.
#pragma once

#include "mapcore/base/result.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

// Where ranks are watched: ONDELOC_STEP, LD_PRELOAD (ours after the user's), and ASAN_OPTIONS so
// that gcc's address sanitizer bears that. Where they are moved or bound: what keeps Open MPI and
// PSM2 from binding them themselves, unless the user has set it. ONDELOC_STEP says which of these
// were set here.
// REQUIRES: step.listening is decided.
Status set_environment(spank_t spank, const Step& step);
// Takes out what all that has left in a job or step that was submitted from inside a step, before
// anything is set: it belongs to another step's ranks. The user's own settings stay.
void drop_left_over(spank_t spank);
// In a task whose mount namespace hides the rank library: the loader would complain in every
// process.
void drop_preload(spank_t spank, const Step& step);

}  // namespace ondeloc
