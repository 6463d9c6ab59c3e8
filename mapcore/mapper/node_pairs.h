// SPDX-License-Identifier: Apache-2.0
// Between which NUMA nodes the pages of a rank move when its CPUs change; a rank may have CPUs of
// several nodes. Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "mapcore/topology/machine.h"

namespace ondeloc {

struct NodePair {
  int from, to;  // kernel's numbers
  bool operator==(const NodePair&) const = default;
};

// Kernel's numbers of the NUMA nodes that these PUs belong to, ascending.
std::vector<int> nodes_under(const Machine& machine, const CpuSet& pus);

// Pairs every node of `before` that is not in `after` with the node that its pages go to. The nodes
// that are only in `after` are used in turn; if there is none, all nodes of `after` are. Both
// inputs are ascending. The result is empty if an input is empty.
std::vector<NodePair> node_pairs(std::span<const int> before, std::span<const int> after);

}  // namespace ondeloc
