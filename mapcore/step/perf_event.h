// SPDX-License-Identifier: Apache-2.0
// Counters of perf_event_open(2), opened and read by the mapper or the recorder as the user.
// Units: those of the counter. Ownership: a PerfEvent owns its descriptor. Thread safety: for one
// thread. Errors: a sentence with the errno as its code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"

struct perf_event_attr;  // linux/perf_event.h

namespace ondeloc {

struct PerfKind {
  std::uint32_t type = 0;    // PERF_TYPE_*, or the number of a PMU in /sys
  std::uint64_t config = 0;  // the event
};

class PerfEvent {
 public:
  // Counts a thread and those that it starts later, outside of the kernel.
  static Result<PerfEvent> of_thread(PerfKind kind, pid_t thread);
  // Counts a CPU, or the part of the machine that the CPU stands for, whoever uses it.
  static Result<PerfEvent> of_cpu(PerfKind kind, int cpu);

  // The count so far. If the counter had to wait for the hardware, the count is scaled up by its
  // running time. Empty if it never ran although it was to.
  std::optional<double> read() const;

 private:
  explicit PerfEvent(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// perf_event_open(2) without a group; the descriptor is closed by exec.
Result<UniqueFd> open_perf_event(perf_event_attr& attributes, pid_t thread, int cpu);

// The sentence for an errno of perf_event_open(2). `counter`: "counter of memory accesses".
std::string why_no_perf(int error, const char* counter);

}  // namespace ondeloc
