// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/quantity.h"

#include <fmt/format.h>

#include <iterator>

namespace ondeloc {

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  constexpr double kNext = 999.95;  // rounds to 1000
  std::size_t unit = 0;
  for (; bytes >= kNext && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

}  // namespace ondeloc
