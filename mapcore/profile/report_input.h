// SPDX-License-Identifier: Apache-2.0
// A report of online mode as a profile: it holds the sum matrix and the intervals, but no events.
// The JSON is untrusted: bounded, every field checked. Errors: one sentence. Thread safety: pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/profile/recorded_cpus.h"

namespace ondeloc {

struct ReportInput {
  std::string node;
  std::uint64_t job = 0, restarts = 0, step = 0;  // restarts: of a requeued job
  CommMatrix matrix;                              // by world rank; ranks = largest rank + 1
  std::vector<int> ranks;
  std::vector<RankCpuSet> cpus;    // of the ranks; empty if one of them is unknown
  std::map<int, double> off_node;  // bytes that a world rank sent to other nodes
  double off_node_bytes = 0;       // their sum; of a job, that of its nodes
  // The part of off_node that is known by receiver. In the report of a job (job_report.h) this is
  // part of the matrix, and off_node holds the rest.
  std::vector<MatrixEntry> beyond;
  std::vector<std::string> nodes;  // more than one: the report of a job
  std::size_t intervals = 0;
  std::vector<std::pair<double, double>> sent;  // of each interval: its end, seconds; bytes
  std::vector<std::pair<double, double>> sent_off_node;  // the same to other nodes
  double seconds = 0;
  int remaps = 0;
  std::vector<std::string> notes;
};

// REQUIRES: `text` begins with '{'. Errors call it `name`.
Result<ReportInput> parse_report(std::string_view text, const std::string& name);

}  // namespace ondeloc
