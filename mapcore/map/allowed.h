// SPDX-License-Identifier: Apache-2.0
// Mappings under constraints: a rank may be bound to certain CPUs only, such as those near the GPU
// that it uses. Every algorithm maps without constraints; its mapping is then changed as little as
// needed. Thread safety: pure functions.
#pragma once

#include <functional>

#include "mapcore/map/mapping.h"

namespace ondeloc {

// For each rank the CPUs that its slot has to be part of; empty: any. An empty vector constrains no
// rank.
using AllowedCpus = IndexedVector<LocalRank, CpuSet>;

bool is_allowed(const AllowedCpus& allowed, LocalRank rank, const Slot& slot);

// Returns the mapping nearest to `wanted` that respects `allowed`: the most ranks get the slot
// meant for them, then a slot on the NUMA node meant for them. A rank that is outside of its
// allowed CPUs in `current` stays there if they have no room. A rank that is inside stays inside:
// that is a guarantee. A minimal assignment (Hungarian method), O(ranks^2 slots); it is only
// computed if `wanted` breaks a constraint, and for more than 1024 ranks `current` is returned
// then. REQUIRES: both mappings are valid.
Mapping keep_allowed(const Mapping& wanted, const Mapping& current, const SlotSet& slots,
                     const AllowedCpus& allowed);

// Lowers the cost of a mapping by exchanging pairs of ranks that are on different NUMA nodes or
// caches, as far as `allowed` permits, until no exchange helps or `most` mappings were valued. A
// mapping that was changed by keep_allowed() may need this: the algorithm had put groups of ranks
// where a constraint tears them apart, and the groups may fit elsewhere.
Mapping improve_allowed(Mapping mapping, const SlotSet& slots, const AllowedCpus& allowed,
                        const std::function<double(const Mapping&)>& cost, int most = 4000);

// Counts the ranks whose slot is outside of their allowed CPUs.
int count_outside(const Mapping& mapping, const SlotSet& slots, const AllowedCpus& allowed);

}  // namespace ondeloc
