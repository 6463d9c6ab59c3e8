// SPDX-License-Identifier: Apache-2.0
// A profile or a series told like a report: the run as the online loop would have gone. Thread
// safety: for one thread.
#pragma once

#include <string>

#include "mapcore/apps/replayed_run.h"
#include "mapcore/input/report_run.h"

namespace ondeloc::cli {

// `path`: where `file` was loaded from.
Result<ReportRun> replayed_report(const ReplaySetup& setup, InputFile file,
                                  const std::string& path);

}  // namespace ondeloc::cli
