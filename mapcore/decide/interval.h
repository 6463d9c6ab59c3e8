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

// Lengths in one unit, which the caller chooses. REQUIRES: 0 < floor <= cap, slope > 1.
struct IntervalRule {
  double floor, cap, slope;
  // Returns the length of the interval that follows one of `length`.
  double next(double length, NextLook next) const {
    switch (next) {
      case NextLook::kLater:
        return std::min(length * slope, cap);
      case NextLook::kSooner:
        return std::max(length / slope, floor);
      case NextLook::kSoonest:
        return floor;
      case NextLook::kAsBefore:
        break;
    }
    return length;
  }
};

class IntervalController {
 public:
  // REQUIRES: what IntervalRule requires.
  IntervalController(std::uint32_t floor_ms, std::uint32_t cap_ms, double slope)
      : rule_{static_cast<double>(floor_ms), static_cast<double>(cap_ms), slope},
        current_(floor_ms) {}

  std::uint32_t milliseconds() const { return static_cast<std::uint32_t>(current_); }
  // `sent`: the ranks sent something in the interval that ends.
  void step(NextLook next, bool sent = true) {
    if (sent && !std::exchange(begun_, true)) next = NextLook::kSoonest;
    current_ = rule_.next(current_, next);
  }

 private:
  IntervalRule rule_;
  double current_;
  bool begun_ = false;
};

}  // namespace ondeloc
