// SPDX-License-Identifier: Apache-2.0
// static:FILE: binds the calling task as the file or the layout says. In task_init, before the
// application runs. If the file is wrong, one task of the node tells the user, and the whole step
// ends: a task that exits alone leaves the others hanging in MPI_Init. With on-error=warn the step
// runs on. Any other failure is ondeloc's own and is returned.
#pragma once

#include "mapcore/base/result.h"

#include "spank/mapper.h"

namespace ondeloc {

// Does not return if the user's file is wrong and on-error=fail.
Status bind_task(spank_t spank, const Step& step, const Task& task);
// profile:FILE with on-error=fail: does not return if the file cannot be written. Local task 0
// looks, as the user; the other tasks only learn that the step ends.
Status check_profile(spank_t spank, const Step& step, const Task& task);

}  // namespace ondeloc
