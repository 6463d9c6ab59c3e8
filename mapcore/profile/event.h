// SPDX-License-Identifier: Apache-2.0
// One message of a profile, as the sender saw it. Ranks are world ranks. Thread safety: a value.
#pragma once

#include <cstdint>
#include <functional>

#include "mapcore/base/result.h"

namespace ondeloc {

struct ProfileEvent {
  std::uint64_t time_ns = 0;  // since the profile's time zero
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const ProfileEvent&, const ProfileEvent&) = default;
};

// [from, to) in nanoseconds since the profile's time zero.
struct TimeWindow {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  bool contains(std::uint64_t time_ns) const { return from_ns <= time_ns && time_ns < to_ns; }
  bool meets(std::uint64_t first_ns, std::uint64_t last_ns) const {
    return first_ns < to_ns && from_ns <= last_ns;
  }
};

// Long runs call it now and then with the share done, 0 to 1. It may be empty.
using Progress = std::function<void(double)>;

}  // namespace ondeloc
