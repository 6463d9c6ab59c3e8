// SPDX-License-Identifier: Apache-2.0
// The mapping interval: Agung et al. 2020, equations 1 and 2. Nothing applied: interval x v, up to
// the cap; applied: interval / v, never below the floor. Two additions are not published. The
// interval is the floor again at the first message and where a pattern is new after one that
// lasted: a program that first reads its input for a minute, or that talks to other partners after
// a minute, would otherwise be looked at every 30 s from then on. And the interval stays while the
// decision waits for the program's pace (Decider), which takes three intervals: a phase of six
// intervals would be over by then if they grew. Thread safety: for one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ondeloc {

// When the next interval should end, by what the last one showed.
enum class NextLook { kLater, kAsBefore, kSooner, kSoonest };

class IntervalController {
 public:
  // REQUIRES: 0 < floor_ms <= cap_ms, slope > 1.
  IntervalController(std::uint32_t floor_ms, std::uint32_t cap_ms, double slope)
      : floor_(floor_ms), cap_(cap_ms), slope_(slope), current_(floor_ms) {}

  std::uint32_t milliseconds() const { return static_cast<std::uint32_t>(current_); }
  // `sent`: the ranks sent something in the interval that ends.
  void step(NextLook next, bool sent = true) {
    if (sent && !std::exchange(begun_, true)) next = NextLook::kSoonest;
    if (next == NextLook::kLater) current_ = std::min(current_ * slope_, cap_);
    if (next == NextLook::kSooner) current_ = std::max(current_ / slope_, floor_);
    if (next == NextLook::kSoonest) current_ = floor_;
  }

 private:
  double floor_, cap_, slope_, current_;
  bool begun_ = false;
};

}  // namespace ondeloc
