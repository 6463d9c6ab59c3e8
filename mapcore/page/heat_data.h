// SPDX-License-Identifier: Apache-2.0
// The heat map of a page: a byte for each pair of ranks, on a logarithmic scale, and the marks of
// the scale. Thread safety: pure function.
#pragma once

#include <nlohmann/json.hpp>

#include "mapcore/input/report_run.h"

namespace ondeloc {

nlohmann::ordered_json heat_data(const ReportRun& run);

}  // namespace ondeloc
