// SPDX-License-Identifier: Apache-2.0
// Turns the entries of a rankfile into PUs and nodes of this step. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"
#include "mapcore/rankfile/rankfile.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// Returns the PUs of an entry that are in `usable` (a core may have a hardware thread outside the
// step). No such PU is an error. With `relative` only packages and cores with a PU in `usable` are
// counted.
Result<CpuSet> resolve_slots(const RankfileEntry& entry, const Machine& machine,
                             const CpuSet& usable, bool relative);

// Returns the PUs of each thread of an entry, up to the last thread that the file names; a thread
// that the file leaves out has none. `of_rank`: what resolve_slots() gave the rank. A thread that
// would run on another PU is an error.
Result<std::vector<CpuSet>> resolve_threads(const RankfileEntry& entry, const Machine& machine,
                                            const CpuSet& usable, bool relative,
                                            const CpuSet& of_rank);

// Returns the host as the file has it: a name, or "+nX".
std::string host_of(const RankfileEntry& entry);

// True if the entry's host is this node. Domain parts are compared only if both names have one.
bool is_on_node(const RankfileEntry& entry, std::string_view node_name, int node_index);

}  // namespace ondeloc
