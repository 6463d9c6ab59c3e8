// SPDX-License-Identifier: Apache-2.0
// Distributions of ranks over the compute nodes of a step: those of srun's --distribution, and the
// cost of any. Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/place/network.h"

namespace ondeloc {

// node[rank] = number of the node, from 0.
using NodeOfRank = std::vector<int>;

// The same number of ranks on each node as in `counts`, in srun's order.
NodeOfRank block_layout(const std::vector<int>& counts);   // consecutive ranks share a node
NodeOfRank cyclic_layout(const std::vector<int>& counts);  // consecutive ranks change the node
NodeOfRank plane_layout(const std::vector<int>& counts, int size);  // `size` ranks, then the next

// The same distribution as slots of the network, and back. Each rank takes the next free slot of
// its node. REQUIRES: no node gets more ranks than it has slots.
Mapping mapping_of(const Network& network, const NodeOfRank& layout);
NodeOfRank layout_of(const Network& network, const Mapping& mapping);

struct LayoutCost {
  double bytes = 0, messages = 0;  // between nodes
  std::optional<double> share;     // of all bytes between different ranks; empty without any
  double most = 0;                 // bytes through the fullest adapter, both directions
  std::optional<int> fullest;      // node of that adapter; empty if no bytes leave a node
  double seconds = 0;              // predicted, network.h; 0 if nothing leaves a node
};
// The seconds of cost_of_layout() alone, in a part of its time.
double seconds_of_layout(const Network& network, const Traffic& traffic, const NodeOfRank& layout);
LayoutCost cost_of_layout(const Network& network, const Traffic& traffic, const NodeOfRank& layout);

// The ranks of each node, ascending.
std::vector<std::vector<int>> ranks_by_node(const NodeOfRank& layout, std::size_t nodes);

}  // namespace ondeloc
