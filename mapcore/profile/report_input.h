// SPDX-License-Identifier: Apache-2.0
// A report of online mode as a profile: it holds the sum matrix and the intervals, but no events.
// The JSON is untrusted: bounded, every field checked. Errors: one sentence. Thread safety: pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

struct ReportInput {
  std::string node;
  std::uint64_t job = 0, step = 0;
  CommMatrix matrix;  // by world rank; ranks = largest rank + 1
  std::vector<int> ranks;
  std::map<int, double> off_node;  // bytes that a world rank sent to other nodes
  std::size_t intervals = 0;
  double seconds = 0;
  int remaps = 0;
  std::vector<std::string> notes;
};

// `text` begins with '{'. `name` is what errors call it.
Result<ReportInput> parse_report(std::string_view text, const std::string& name);
Result<ReportInput> read_report(const std::string& path);
// True when the file's first character that is no blank is '{'.
bool looks_like_report(const std::string& path);

}  // namespace ondeloc
