// SPDX-License-Identifier: Apache-2.0
// Exchanges the seats of the threads of one rank so that threads that share many pages sit next to
// each other.
//
// `coordinated` maps the threads to the seats that they have together; no other CPU is used, and no
// NUMA node gets more threads than before. A fault that two threads share counts as a cache line
// that goes from one to the other, with the latency of the smallest domain that both seats share.
// Congestion counts for nothing, because page faults do not tell how many bytes go. Thread safety:
// pure functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mapcore/map/cost_model.h"

namespace ondeloc {

enum class Exchange {
  kAlike,    // all pairs of seats are equally near: no order is better
  kTooFew,   // too few shared faults to tell
  kInOrder,  // no order is clearly better than the present one
  kBetter,
};

struct SharingSeats {
  Exchange found = Exchange::kTooFew;
  std::vector<CpuSet> cpus;  // of each thread; empty without kBetter
};

// `seats`: the CPUs of each thread now, at least one CPU each. `pairs`: PageSharing::pairs() of
// these threads. `machine` and `model` are those of the step.
SharingSeats exchange_seats(const CostModel& model, const Machine& machine,
                            std::span<const CpuSet> seats, const CommMatrix& pairs);

// True if some pair of seats is nearer than another.
bool order_matters(const CostModel& model, const Machine& machine, std::span<const CpuSet> seats);

}  // namespace ondeloc
