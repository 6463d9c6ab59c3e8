// SPDX-License-Identifier: Apache-2.0
// The page of a run: one HTML file that holds its data, style and scripts and loads nothing. Texts
// of the run (program, arguments, notes) are not trusted: they stand in the page as JSON without
// '<', '>' and '&', and the script turns them into text nodes. Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/input/report_run.h"

namespace ondeloc {

// A heat map of more ranks would be larger than a browser draws well.
inline constexpr std::size_t kMostPageRanks = 2048;

// One run for each node of a step; steps may differ. Error: no run, or more ranks on a node than
// kMostPageRanks.
Result<std::string> to_page(const std::vector<ReportRun>& runs);

}  // namespace ondeloc
