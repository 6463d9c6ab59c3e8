// SPDX-License-Identifier: Apache-2.0
// The mapper of one step on one node: what ondeloc-mapper does in online mode.
//
//   every interval: totals -> what came since -> S = D + D^T -> algorithm -> decision -> move ranks
//
// It ends by itself: when every rank has called MPI_Finalize or died, when slurmstepd says END, and
// writes the report then. Nothing that fails here is fatal to the step; lines for the user say what
// went wrong.
#pragma once

#include <string>
#include <vector>

#include "mapcore/step/config.h"

namespace ondeloc {

// Runs until the step is over. Returns the lines for the user: what went wrong, and with `verbose`
// a summary. Blocks; for the main thread of a process of the step's user.
std::vector<std::string> run_mapper(const MapperConfig& config);

}  // namespace ondeloc
