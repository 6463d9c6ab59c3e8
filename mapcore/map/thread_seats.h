// SPDX-License-Identifier: Apache-2.0
// The seats of the threads of one rank inside its slot. A seat is a core; if there are more threads
// than cores, a PU.
//
// The first thread gets the seat from which the rank's traffic costs the least by the model. The
// others follow in the smallest domains around it, so that consecutive threads share caches, as
// OpenMP's OMP_PROC_BIND=close arranges them. A thread stays on the NUMA node on which it runs if a
// seat is left there: the memory that it touched first is on that node. Thread safety: pure
// functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mapcore/map/cost_model.h"

namespace ondeloc {

// The other rank of a pair: its seat, and the traffic of the pair in both directions.
struct Peer {
  Seat seat;
  double bytes = 0, messages = 0;
};

// Returns the CPUs of each thread; nothing if the slot has fewer PUs than threads. `last`: the CPU
// on which each thread ran last, in the order of the threads; at least one thread. `ranks`: of the
// node.
std::optional<std::vector<CpuSet>> seat_threads(const CostModel& model, const Machine& machine,
                                                const CpuSet& slot, std::span<const PuOs> last,
                                                std::span<const Peer> peers, int ranks);

}  // namespace ondeloc
