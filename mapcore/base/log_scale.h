// SPDX-License-Identifier: Apache-2.0
// The logarithmic scale of bytes of all pictures: from a floor, which is at most kDecades below the
// largest value, to the largest value; its marks are powers of ten. Thread safety: values.
#pragma once

#include <span>
#include <vector>

namespace ondeloc {

struct LogScale {
  double low = 0, high = 0;          // high = 0: there is no value
  double share(double value) const;  // 0 at low and below, 1 at high
  std::vector<double> ticks()
      const;  // powers of ten inside, at most seven; the ends if fewer than two
};

// Small values would stretch the scale until large ones look alike.
inline constexpr double kDecades = 6;
LogScale log_scale(std::span<const double> values);

}  // namespace ondeloc
