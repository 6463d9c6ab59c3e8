// SPDX-License-Identifier: Apache-2.0
// `--ondeloc=profile:FILE` on the node: the process that maps in online mode records instead. It
// polls the event channel, writes the profile while the program runs (memory is bounded by one
// block) and ends like the mapper: when every rank has called MPI_Finalize or died, or slurmstepd
// says END. No failure harms the step: if the disk is full or the file is missing, the recorder
// stops writing, the ranks count the messages that they drop, and one line tells the user.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/step/config.h"

namespace ondeloc {

// An error if the profile of this step cannot be written. Writes nothing.
Status check_recording(const MapperConfig& config);

// Returns the lines for the user. Blocks; for the main thread of a process of the step's user.
std::vector<std::string> run_recorder(const MapperConfig& config);

}  // namespace ondeloc
