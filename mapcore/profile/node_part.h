// SPDX-License-Identifier: Apache-2.0
// Finds the ranks of a recording. Each node of a step has a profile and a report of its own, which
// use ranks of MPI_COMM_WORLD; a mapping concerns the ranks that ran on that node. Thread safety:
// pure functions.
#pragma once

#include <string>
#include <vector>

#include "mapcore/profile/reader.h"
#include "mapcore/profile/report_input.h"

namespace ondeloc {

struct NodePart {
  std::vector<int> ranks;  // in MPI_COMM_WORLD, ascending; empty: all, the step has one node
  std::string node;        // Slurm's name of it
};

// Errors call the file `name`: it holds several nodes, or the recording ended before it knew all
// its ranks.
Result<NodePart> node_part(const ProfileReader& profile, const std::string& name);
Result<NodePart> node_part(const ReportInput& report, const std::string& name);

// Metrics need all ranks. Error: the profile holds the ranks of some nodes only.
Status check_all_ranks(const ProfileReader& profile, const std::string& name);

}  // namespace ondeloc
