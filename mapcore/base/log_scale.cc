// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/log_scale.h"

#include <algorithm>
#include <cmath>

namespace ondeloc {

double LogScale::share(double value) const {
  if (value <= low || low <= 0) return 0;
  return low < high ? std::min(1.0, std::log(value / low) / std::log(high / low)) : 1;
}

std::vector<double> LogScale::ticks() const {
  constexpr int kMostTicks = 7;
  if (high <= 0) return {};
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int step = std::max(1, (last - first + kMostTicks) / kMostTicks);
  std::vector<double> ticks;
  for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
  if (ticks.size() < 2) return {low, high};
  return ticks;
}

LogScale log_scale(std::span<const double> values) {
  LogScale scale;
  for (const double value : values) {
    if (value <= 0) continue;
    scale.high = std::max(scale.high, value);
    scale.low = scale.low == 0 ? value : std::min(scale.low, value);
  }
  // If all values lie within a factor of ten, different shades would exaggerate the differences.
  scale.low = std::clamp(scale.low, scale.high * std::pow(10.0, -kDecades), scale.high / 10);
  return scale;
}

}  // namespace ondeloc
