// SPDX-License-Identifier: Apache-2.0
// The version of reports, and the check that every reader of a report makes first. A key of another
// version may have another meaning. Thread safety: pure function.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/base/text.h"

namespace ondeloc {

inline constexpr int kReportVersion = 1;

// `report`: of nlohmann's parser without exceptions. `subject`: of the sentence, such as
// "'r.json'". A report without a version is read. Errors: the text was not JSON; another version,
// with the code ENOTSUP.
template <class Json>
Status check_report_json(const Json& report, const std::string& subject) {
  if (report.is_discarded())
    return Error(subject + " is damaged or cut off: it is not valid JSON");
  const auto version = report.is_object() ? report.find("version") : report.end();
  if (version == report.end() || *version == kReportVersion) return {};
  return Error(
      fmt::format("{} is a report of version {}, and this ondeloc reads version {}; use the "
                  "ondeloc that wrote it",
                  subject, shorten(version->dump(-1, ' ', false, Json::error_handler_t::replace)),
                  kReportVersion),
      ENOTSUP);
}

}  // namespace ondeloc
