// SPDX-License-Identifier: Apache-2.0
// Whose ranks a recording holds. Each node of a step on several nodes has a profile and a report of
// its own, with numbers of MPI_COMM_WORLD; a mapping is of the ranks that ran there. Thread safety:
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

// `name` is what errors call the file. Errors: several nodes in one file, or a recording that ended
// before it knew all its ranks.
Result<NodePart> node_part(const ProfileReader& profile, const std::string& name);
NodePart node_part(const ReportInput& report);

// Metrics are of all ranks. Error: the profile holds those of some nodes only.
Status check_all_ranks(const ProfileReader& profile, const std::string& name);

}  // namespace ondeloc
