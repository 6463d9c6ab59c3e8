// SPDX-License-Identifier: Apache-2.0
// parse_report() (report_input.h) for JSON that is parsed already. Thread safety: pure.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "mapcore/base/result.h"
#include "mapcore/profile/report_input.h"

namespace ondeloc {

Result<ReportInput> read_report(const nlohmann::ordered_json& report, const std::string& name);

}  // namespace ondeloc
