// SPDX-License-Identifier: Apache-2.0
// Time in which neither the ranks nor this process ran: scontrol suspend and gang scheduling with
// proctrack/cgroup, which freezes the mapper and the recorder two seconds after it has stopped the
// ranks, or a virtual machine that was paused. The process sees it as a wait that ends much later
// than it should. Other proctrack plugins stop the ranks alone. This is not noticed, and the step
// looks idle: finding it out would take a look into /proc for each rank and interval. Thread
// safety: for one thread.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

namespace ondeloc {

class StoppedTime {
 public:
  using Clock = std::chrono::steady_clock;

  // After a wait that was to end at `due` at the latest. Returns for how long nothing ran, 0 as a
  // rule: less than a second may be a busy machine.
  Clock::duration woke(Clock::time_point due, Clock::time_point now = Clock::now()) {
    const Clock::duration late = now - due;
    if (late < std::chrono::seconds(1)) return Clock::duration::zero();
    total_ += late;
    return late;
  }

  // For the report; empty where the step was not stopped.
  std::string note() const {
    if (total_ == Clock::duration::zero()) return {};
    return fmt::format("the step was stopped for {:.0f} s (suspended, as a rule)",
                       std::chrono::duration<double>(total_).count());
  }

 private:
  Clock::duration total_{};
};

}  // namespace ondeloc
