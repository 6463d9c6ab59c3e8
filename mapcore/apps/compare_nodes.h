// SPDX-License-Identifier: Apache-2.0
// `ondeloc compare --nodes N`: the distributions of a step over N equal nodes, and inside their
// nodes the order of Slurm beside the mapping of `ondeloc map`. Errors: one sentence. Thread
// safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/place/network.h"

namespace ondeloc::cli {

struct NodesComparison {
  int nodes = 0;
  SlotOptions slots;
  Adapter adapter;
  bool json = false;
};

// `matrix`: of read_step_traffic().
Result<std::string> compare_nodes(const NodesComparison& wanted, const MachineChoice& machine,
                                  const CommMatrix& matrix);

}  // namespace ondeloc::cli
