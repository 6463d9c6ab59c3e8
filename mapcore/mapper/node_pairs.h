// SPDX-License-Identifier: Apache-2.0
// From which NUMA node to which the pages of a rank go whose CPUs changed: a rank may have CPUs of
// several. Thread safety: pure functions.
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

// Every node of `before` that is not in `after` with the one that its pages go to: in order, those
// that are new first of all; where none is new, any that is left. Both ascending. Empty where one
// of them is.
std::vector<NodePair> node_pairs(std::span<const int> before, std::span<const int> after);

}  // namespace ondeloc
