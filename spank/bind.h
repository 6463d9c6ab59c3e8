// SPDX-License-Identifier: Apache-2.0
// static:FILE: binds the calling task as the file says. In task_init, before anything of the
// application runs. A mistake in the file is the user's: one sentence from one task of the node,
// then the whole step ends, because a task that exits alone leaves the others hanging in MPI_Init;
// on-error=warn tells it and runs on. Anything else that fails is ours and returned.
#pragma once

#include "mapcore/base/result.h"

#include "spank/mapper.h"

namespace ondeloc {

// Does not return when the user's file is wrong and on-error=fail.
Status bind_task(spank_t spank, const Step& step, const Task& task);

}  // namespace ondeloc
