// SPDX-License-Identifier: Apache-2.0
// Traffic from any file that holds it. Errors: one sentence with the name of the file. Thread
// safety: for one thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mapcore/base/progress.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/input/input_file.h"
#include "mapcore/profile/node_part.h"
#include "mapcore/profile/reader.h"
#include "mapcore/profile/report_input.h"

namespace ondeloc {

// A matrix, or a series of them, from a text.
struct PlainMatrices {
  CommMatrix sum;
  std::vector<CommMatrix> series;  // empty: the file holds a sum only
};

using TrafficSource = std::variant<ProfileReader, ReportInput, PlainMatrices>;

Result<TrafficSource> open_traffic(InputFile file);
Result<TrafficSource> open_traffic(const std::string& path, Need need = Need::kTraffic);

// The ranks that a source holds; `name` is what errors call it. Errors: as node_part().
Result<NodePart> part_of(const TrafficSource& source, const std::string& name);

// One matrix for every `seconds` of the run. A series from a text has its own intervals, and
// `seconds` says how long they are. A report has one matrix for the whole run: every interval gets
// that pattern, with the bytes that the report counted in that time. Errors:
// more intervals than kMaxMatrixIntervals, or matrices of a report that take more than 1.5 GiB.
Result<std::vector<CommMatrix>> series_of(TrafficSource& source, double seconds,
                                          const Progress& progress = {});
// The share of the bytes to other nodes that a report has for each interval of series_of(): as it
// counted them, or, if it does not tell them by interval, the same for all.
std::vector<double> off_node_shares(const ReportInput& report, double seconds,
                                    std::size_t intervals);
// True if series_of() spreads one matrix over time.
bool has_one_pattern(const TrafficSource& source);

}  // namespace ondeloc
