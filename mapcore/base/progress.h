// SPDX-License-Identifier: Apache-2.0
// How far a long command is, for a person who waits. All phases of a command share one clock, so
// that several short phases count as one long one. Thread safety: one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ondeloc {

class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<void(std::string_view)>;

  // Nothing is shown before `delay` after the meter was made; then every 0.2 s on a terminal (one
  // line, wiped at the end of each phase), every 2 s elsewhere (a line each).
  ProgressMeter(Clock::duration delay, bool terminal, Write write);
  // To be called with the share done, 0 to 1, of the phase called `what`. The meter outlives it.
  std::function<void(double)> phase(const std::string& what);

 private:
  void show(const std::string& what, double share);
  void wipe();

  Clock::time_point start_ = Clock::now(), last_ = start_;
  Clock::duration delay_;
  bool terminal_, shown_ = false;
  Write write_;
};

}  // namespace ondeloc
