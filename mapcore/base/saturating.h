// SPDX-License-Identifier: Apache-2.0
// Sums of counters that another process writes and may therefore choose: they must not wrap.
#pragma once

#include <cstdint>

namespace ondeloc {

// a + b, or the largest value if the sum is larger.
constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

}  // namespace ondeloc
