// SPDX-License-Identifier: Apache-2.0
// Keeps ranks where they are. A partition says which ranks belong together. These functions choose
// the node of each group, and one of several equally good partitions, so that as few ranks as
// possible leave their node. No step raises the predicted cost.
#pragma once

#include "mapcore/map/coordinated/refine.h"
#include "mapcore/map/coordinated/starts.h"

namespace ondeloc::coordinated {

// Renames the nodes of `part` among nodes that the model cannot distinguish. Inside every class of
// such nodes, the Hungarian method (H. W. Kuhn, Naval Res. Logist. Q. 2, 1955) finds the assignment
// that keeps most ranks.
Part relabel(const Target& target, std::span<const int> part, std::span<const int> previous);

// Renames the nodes of `part` likewise, so that among alike nodes the least ranks are in order.
Part in_order_of_ranks(const Target& target, std::span<const int> part);

// The partition with other names: rank i is in names[part[i]].
Part renamed(std::span<const int> part, std::span<const int> names);

// The least rank of each group of a partition; groups without ranks have the largest int.
std::vector<int> least_ranks(std::span<const int> part, int groups);

// new_name[group]: the k-th of `names` goes to the one of them that has the k-th least rank.
void name_in_order(std::span<const int> names, std::span<const int> least,
                   std::vector<int>& new_name);

// new_name[group]: the groups in `names` exchange these names so that most ranks of `part` keep
// their group of `previous`.
void name_as_before(std::span<const int> names, std::span<const int> part,
                    std::span<const int> previous, std::vector<int>& new_name);

// Swaps and moves single ranks back to their previous node as long as the value stays the same or
// improves. `state` holds the partition and receives the result.
void move_back(State& state, std::span<const int> previous);

}  // namespace ondeloc::coordinated
