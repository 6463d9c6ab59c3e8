// SPDX-License-Identifier: Apache-2.0
// The mapper of one step on one node: what ondeloc-mapper does in online mode.
//
//   every interval: totals -> what came since -> S = D + D^T -> algorithm -> decision -> move ranks
//
// It ends by itself: when every rank has called MPI_Finalize or died, when slurmstepd says END, and
// writes the report then. Nothing it meets is fatal to the step; what a user should know it says in
// lines.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/options/options.h"

namespace ondeloc {

struct MapperConfig {
  int segment_fd = -1;
  int channel_fd = -1;
  Options options;
  std::string node;
  std::string topology;  // empty: the host
  std::uint32_t min_interval_ms = 100;
  std::string no_events;  // why nobody listens to events, for the notes; empty: somebody does
  bool read_rows = true;  // false: test switch no-rows
};

// Runs until the step is over. Returns the lines for the user: what went wrong, and with `verbose`
// a summary. Blocks; for the main thread of a process of the step's user.
std::vector<std::string> run_mapper(const MapperConfig& config);

}  // namespace ondeloc
