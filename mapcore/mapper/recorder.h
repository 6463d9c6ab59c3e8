// SPDX-License-Identifier: Apache-2.0
// `--ondeloc=profile:FILE` on the node: the process that would map in online mode records instead.
// It polls the event channel, writes the profile while the program runs (memory is bounded by one
// block) and ends like the mapper: when every rank has called MPI_Finalize or died, or slurmstepd
// says END. Nothing it meets harms the step: with a full disk or no file it stops writing, the
// ranks drop and count, and one line says so.
#pragma once

#include <string>
#include <vector>

#include "mapcore/mapper/run.h"

namespace ondeloc {

// Returns the lines for the user. Blocks; for the main thread of a process of the step's user.
std::vector<std::string> run_recorder(const MapperConfig& config);

}  // namespace ondeloc
