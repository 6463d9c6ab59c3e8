// SPDX-License-Identifier: Apache-2.0
// The keys of a report. Thread safety: a constant table.
#pragma once

#include <span>
#include <string_view>

namespace ondeloc {

// The one table of keys: path ("intervals[].t"), unit, meaning. A test checks that to_json
// writes exactly these keys and that ondeloc-report(5) lists them word for word.
struct ReportKey {
  std::string_view path;
  std::string_view unit;  // "" where it has none
  std::string_view meaning;
};
std::span<const ReportKey> report_keys();

}  // namespace ondeloc
