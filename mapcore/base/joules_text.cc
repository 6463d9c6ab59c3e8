// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/joules_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace ondeloc {

std::string joules_text(double joules) {
  constexpr double kRoundsUp = 999.95;  // to 1000
  constexpr const char* kJouleUnits[] = {"J", "kJ", "MJ", "GJ", "TJ"};
  std::size_t unit = 0;
  for (; joules >= kRoundsUp && unit + 1 < std::size(kJouleUnits); ++unit) joules /= 1000;
  return fmt::format("{:.4g} {}", joules, kJouleUnits[unit]);
}

}  // namespace ondeloc
