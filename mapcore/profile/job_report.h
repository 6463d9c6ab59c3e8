// SPDX-License-Identifier: Apache-2.0
// The reports of the nodes of one step as one: a job report. It is JSON with the keys version, job,
// step and nodes, a list of the reports as the nodes wrote them, so that nothing is lost.
// The JSON is untrusted, as in report_input.h. Memory: that of all reports. Errors: one sentence
// that names the files. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/profile/report_input.h"

namespace ondeloc {

// Nodes of a step, and bytes of a job report: every command can read what merge_reports() writes.
inline constexpr std::size_t kMostNodeReports = 16384;
inline constexpr std::size_t kMostJobReportBytes = std::size_t{1} << 30;

struct NamedReport {
  std::string name;  // for errors
  ReportInput report;
};

// The traffic of all nodes, between the nodes included. Parts may be joined ones themselves.
// Errors: parts of different steps, a node or a rank twice, no part.
Result<ReportInput> join_reports(std::vector<NamedReport> parts);

// Error beside those of join_reports(): not a job report. Errors call it `name`.
Result<ReportInput> parse_job_report(std::string_view text, const std::string& name);

struct NamedText {
  std::string name, text;
};
struct MergedReports {
  std::string text;  // of the job report
  ReportInput joined;
};
// `reports`: of nodes, or job reports. Errors: as join_reports(), or too much.
Result<MergedReports> merge_reports(const std::vector<NamedText>& reports);

}  // namespace ondeloc
