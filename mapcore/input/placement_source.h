// SPDX-License-Identifier: Apache-2.0
// A mapping from any file that holds one: JSON of `ondeloc map`, a rankfile, or the report of an
// online run (the CPUs that its ranks had at the end). Errors: one sentence with the name of the
// file. Thread safety: for one thread.
#pragma once

#include <string>

#include "mapcore/input/input_file.h"
#include "mapcore/map/mapping_io.h"

namespace ondeloc {

// The CPUs of the ranks that need some, by ascending rank, all of them in `usable`. "-" is standard
// input. An error about CPUs that the host does not have says that --topology names another
// machine.
Result<RankCpus> read_placement(const std::string& path, const Machine& machine,
                                const CpuSet& usable, const PlacedRanks& ranks);

// The CPUs at the end of the ranks of a report.
Result<WorldCpus> parse_report_placement(std::string_view text, const std::string& name);

}  // namespace ondeloc
