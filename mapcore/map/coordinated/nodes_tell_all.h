// SPDX-License-Identifier: Apache-2.0
// Tells if `coordinated` may search over the NUMA nodes alone. Thread safety: pure function.
#pragma once

#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

// True if the partition over NUMA nodes determines the cost of evaluate() exactly: each node has
// one last-level cache, no port counts, each pair of nodes has its own link, and, if messages
// count, no two slots share a core or an L2, and bytes and messages cost in one proportion. No rank
// sends off-node bytes on a way to an adapter (adapter_paths.h).
bool nodes_tell_all(const MapRequest& request);

}  // namespace ondeloc::coordinated
