// SPDX-License-Identifier: Apache-2.0
// The intervals of a run for its page: the values of the time line, and the decisions with their
// explanations. Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "mapcore/decide/verdict.h"

namespace ondeloc {

// Columns. Intervals that are put together keep their largest load and the mean of their shares.
nlohmann::ordered_json interval_data(const Run& run);

// A row for each interval that the page explains.
nlohmann::ordered_json decision_data(const Run& run);
// Tells the reader which intervals these are.
std::string decision_hint(const Run& run);

}  // namespace ondeloc
