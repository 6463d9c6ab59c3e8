// SPDX-License-Identifier: Apache-2.0
// The traffic between all ranks of a step of several nodes, from one file or from one for each
// node. Errors: one sentence. Thread safety: for one thread.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"

namespace ondeloc::cli {

// `files`: matrices, and profiles and reports of all nodes; what they hold is added up. `window`:
// as for the commands (workload.h). `ranks`: if it is not 0, the number of ranks; the last ones may
// send nothing. Errors: the files have more ranks; no file has what one of the ranks sent, or two
// have it; a file is named twice; a profile of all ranks has others beside it; reports that do not
// belong together (profile/job_report.h), or that name no receiver on another node. A part of the
// bytes without a receiver is told on standard error.
Result<CommMatrix> read_step_traffic(const std::vector<std::string>& files,
                                     const std::string& window, int ranks);

}  // namespace ondeloc::cli
