// SPDX-License-Identifier: Apache-2.0
// The place of a step's report: the file that the user named with report=, else the site's
// directory (report-dir=), else none. Thread safety: none.
#pragma once

#include <optional>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/report/report.h"
#include "mapcore/segment/layout.h"
#include "mapcore/step/config.h"

namespace ondeloc {

class ReportPlace {
 public:
  // Both arguments have to outlive the place.
  ReportPlace(const MapperConfig& config, const ondeloc_header& header)
      : config_(config), header_(header) {}

  // Somebody wants a report.
  bool is_wanted() const { return !config_.options.report.empty() || is_sites(); }
  // False for a pipe or a device: a later report would come behind the earlier one.
  bool can_be_replaced() const;
  Status write(const Report& report) const;
  // Writes the report if it is wanted. Returns the line that says why this failed: for the user who
  // asked for the report, or else for the log (kForLog), because the place is the site's choice.
  std::optional<std::string> write_or_tell(const Report& report) const;

 private:
  // The user's wish comes first.
  bool is_sites() const { return config_.options.report.empty() && !config_.report_dir.empty(); }
  std::string sites_name() const;
  std::string path() const;

  const MapperConfig& config_;
  const ondeloc_header& header_;
};

}  // namespace ondeloc
