// SPDX-License-Identifier: Apache-2.0
// A report as JSON, and its file.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/report/report.h"

namespace ondeloc {

inline constexpr int kReportVersion = 1;

// The one table of keys: path ("intervals[].t"), unit, meaning. README and man page are checked
// against it, and a test checks that to_json writes exactly these.
struct ReportKey {
  std::string_view path;
  std::string_view unit;  // "" where it has none
  std::string_view meaning;
};
std::span<const ReportKey> report_keys();

std::string to_json(const Report& report);

// %j job, %s step, %N node, %% a percent sign; anything else stays as it is.
std::string expand_pattern(std::string_view pattern, std::uint32_t job, std::uint32_t step,
                           std::string_view node);

// Atomically: a temporary name in the same directory, then rename. Mode 0666 less the umask, or
// that of the file it replaces. Links are followed, to the directory of their target. A character
// device (/dev/null) is written in place; pipes and whatever else is no regular file, and files
// without write permission, are refused.
Status write_file(const std::string& path, std::string_view text);

}  // namespace ondeloc
