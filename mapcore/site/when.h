// SPDX-License-Identifier: Apache-2.0
// Times of `ondeloc site`: ages and dates. Thread safety: pure functions.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"

namespace ondeloc {

// "30d", "36h", "90m": seconds. A number without a unit is an error.
Result<std::time_t> parse_age(std::string_view text);
// An age before `now`, or a date in local time: 2026-11-25 or 2026-11-25T08:30.
Result<std::time_t> parse_since(std::string_view text, std::time_t now);
// "2026-11-25", in local time.
std::string date_text(std::time_t when);

}  // namespace ondeloc
