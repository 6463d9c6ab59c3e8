// SPDX-License-Identifier: Apache-2.0
// Shows how far a long command has come. All phases of a command share one clock, so that several
// short phases count as one long phase. Thread safety: one thread.
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

  // Shows nothing until `delay` has passed since the meter was made. Then it shows one line on a
  // terminal, updated every 0.2 s and wiped at the end of each phase, and elsewhere a line every 2
  // s.
  ProgressMeter(Clock::duration delay, bool terminal, Write write);
  // Returns a function to call with the share done, 0 to 1, of the phase `what`. REQUIRES: the
  // meter outlives the function.
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
