// SPDX-License-Identifier: Apache-2.0
// Writes a report as JSON.
#pragma once

#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/report/report.h"

namespace ondeloc {

inline constexpr int kReportVersion = 1;

std::string to_json(const Report& report);

// %j job, %s step, %N node, %% a percent sign; anything else stays as it is.
std::string expand_pattern(std::string_view pattern, std::uint32_t job, std::uint32_t step,
                           std::string_view node);

// Writes the file whole or not at all and never waits (base/new_file.h). A character device
// (/dev/null) is written in place; pipes and directories are refused, and so are files that the
// user may not write, and files and links of other users in folders that others may write to.
Status write_file(const std::string& path, std::string_view text);

}  // namespace ondeloc
