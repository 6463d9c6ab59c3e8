// SPDX-License-Identifier: Apache-2.0
// The time that a whole measurement may take, from which each of its steps takes a part.
// Thread safety: const access from any thread.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

namespace ondeloc {

// `ondeloc measure` takes at most this long unless the user wants another time.
inline constexpr double kMeasureSeconds = 30;

class TimeBudget {
 public:
  TimeBudget(double seconds, std::function<double()> now)
      : now_(std::move(now)), seconds_(seconds), begin_(now_()) {}
  double part(double share) const { return share * seconds_; }
  // Seconds until this share of the budget is used up; 0 if it is.
  double left_until(double share) const { return std::max(0.0, begin_ + part(share) - now_()); }

 private:
  std::function<double()> now_;
  double seconds_, begin_;
};

}  // namespace ondeloc
