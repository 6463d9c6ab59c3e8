// SPDX-License-Identifier: Apache-2.0
// The mapping interval: Agung et al. 2020, equations 1 and 2. Nothing applied: interval x v, up to
// the cap; applied: interval / v, never below the floor. Beyond the publication, the interval is
// the floor again at the first message: a program that first reads its input for a minute would
// otherwise be looked at every 30 s from then on. Thread safety: for one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ondeloc {

class IntervalController {
 public:
  // REQUIRES: 0 < floor_ms <= cap_ms, slope > 1.
  IntervalController(std::uint32_t floor_ms, std::uint32_t cap_ms, double slope)
      : floor_(floor_ms), cap_(cap_ms), slope_(slope), current_(floor_ms) {}

  std::uint32_t milliseconds() const { return static_cast<std::uint32_t>(current_); }
  // `sent`: the ranks sent something in the interval that ends.
  void step(bool applied, bool sent = true) {
    if (sent && !std::exchange(begun_, true)) current_ = floor_;
    current_ = std::clamp(applied ? current_ / slope_ : current_ * slope_, floor_, cap_);
  }

 private:
  double floor_, cap_, slope_, current_;
  bool begun_ = false;
};

}  // namespace ondeloc
