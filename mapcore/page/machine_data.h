// SPDX-License-Identifier: Apache-2.0
// The machine of a page: NUMA nodes with their package, the caches in them and the cores in these.
// Thread safety: pure function.
#pragma once

#include <nlohmann/json.hpp>

#include "mapcore/input/report_run.h"

namespace ondeloc {

nlohmann::ordered_json machine_data(const ReportRun& run);

}  // namespace ondeloc
