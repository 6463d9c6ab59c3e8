// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/report_place.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "mapcore/options/mapper_messages.h"
#include "mapcore/report/report_json.h"
#include "mapcore/step/file_of_node.h"

namespace ondeloc {

std::string ReportPlace::sites_name() const {
  return site_report_name(header_.job_id, header_.step_id, config_.node, config_.restarts);
}

std::string ReportPlace::path() const {
  if (is_sites()) return config_.report_dir + "/" + sites_name();
  return file_of_node(config_.options.report, header_, config_.node);
}

bool ReportPlace::can_be_replaced() const {
  std::error_code unknown;
  const auto kind = std::filesystem::status(path(), unknown).type();
  return kind == std::filesystem::file_type::not_found ||
         kind == std::filesystem::file_type::regular;
}

Status ReportPlace::write(const Report& report) const {
  if (is_sites()) return write_site_report(config_.report_dir, sites_name(), to_json(report));
  return write_file(path(), to_json(report));
}

std::optional<std::string> ReportPlace::write_or_tell(const Report& report) const {
  if (!is_wanted()) return std::nullopt;
  Status written = write(report);
  if (written) return std::nullopt;
  const std::string mark = is_sites() ? std::string(1, kForLog) : "";
  return mark + std::move(written).error().within("no report").message();
}

}  // namespace ondeloc
