// SPDX-License-Identifier: Apache-2.0
// LAMA over several nodes: the layout runs over the tree of all nodes together, in which the level
// n is a node. Nodes may differ: as in the paper, the loops run over the widest node of each level
// and skip what another node lacks.
//
// Source: J. Hursey, J. M. Squyres, T. Dontje, "Locality-Aware Parallel Process Mapping for
// Multi-Core HPC Systems", IEEE Cluster 2011, figures 1 and 2. Thread safety: pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/base/result.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// The hardware thread of a rank: a node of the list, and the kernel's number there.
struct NodeThread {
  int node = 0;
  PuOs pu;
  friend bool operator==(const NodeThread&, const NodeThread&) = default;
};

// `layout`: the argument of lama (options/lama_layout.h). A thread takes one rank. Errors: a bad
// layout, more ranks than it can place, more than CpuSet::kMaxCpu threads in all nodes.
Result<std::vector<NodeThread>> lama_over_nodes(std::span<const Machine* const> nodes,
                                                std::string_view layout, int ranks);

}  // namespace ondeloc
