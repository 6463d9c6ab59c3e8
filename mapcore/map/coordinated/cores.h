// SPDX-License-Identifier: Apache-2.0
// Chooses the ranks of a last-level cache that share a core or an L2. Thread safety: pure function.
#pragma once

#include "mapcore/map/algorithm.h"

namespace ondeloc::coordinated {

// Exchanges slots of ranks in one last-level cache, and moves ranks to free slots of that cache, as
// long as this reduces the time of the ranks' messages and bytes. Ranks that were in the cache
// before also exchange slots: their data stay in the cache.
void share_cores(const MapRequest& request, Mapping& mapping);

// Moves ranks from shared cores to idle cores of their last-level cache, whatever their messages
// gain by sharing: a core computes for one rank faster than for two. The cost model does not know
// how much faster.
void use_idle_cores(const MapRequest& request, Mapping& mapping);

}  // namespace ondeloc::coordinated
