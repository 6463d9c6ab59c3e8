// SPDX-License-Identifier: Apache-2.0
// Writes a report as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/report/report.h"

namespace ondeloc {

std::string to_json(const Report& report);

// %j job, %s step, %N node, %% a percent sign; anything else stays as it is.
std::string expand_pattern(std::string_view pattern, std::uint32_t job, std::uint32_t step,
                           std::string_view node);

// Writes the file whole or not at all and never waits (base/new_file.h). A character device
// (/dev/null) is written in place; pipes and directories are refused, and so are files that the
// user may not write, and files and links of other users in folders that others may write to.
Status write_file(const std::string& path, std::string_view text);

// The report of a step in a directory that all users of a site write to (report-dir= in
// plugstack.conf). The program's arguments are nobody else's business: the file has mode 0600, or
// 0640 if the directory has the set-group-ID bit and so has given its group to the file.
inline constexpr std::string_view kSiteReportPrefix = "ondeloc-", kSiteReportSuffix = ".json";
// `restarts`: of a requeued job, whose steps begin at 0 again; 0 is not part of the name.
std::string site_report_name(std::uint32_t job, std::uint32_t step, std::string_view node,
                             std::uint32_t restarts = 0);
// Writes it as write_file() does.
Status write_site_report(const std::string& directory, const std::string& name,
                         std::string_view text);

}  // namespace ondeloc
