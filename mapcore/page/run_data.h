// SPDX-License-Identifier: Apache-2.0
// The data of one run that the page shows, as JSON. Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "mapcore/input/report_run.h"

namespace ondeloc {

// "app: job 1 step 0 on node1".
std::string title_of(const ReportRun& run);
// Text of the button that shows the run: kNode where all runs of the page are of one step.
enum class Tab { kNode, kStepAndNode };
nlohmann::ordered_json run_data(const ReportRun& run, Tab tab);

}  // namespace ondeloc
