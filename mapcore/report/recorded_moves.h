// SPDX-License-Identifier: Apache-2.0
// The series of moves that a report has recorded, to be applied again without mapping. So the price
// of moving can be told from the price of mapping (A. Agung, doctoral thesis, Tohoku University,
// evaluation of OnDeLoc: "the mappings of each interval are recorded, then applied again").
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"

namespace ondeloc {

struct RecordedMove {
  int world_rank = 0;
  CpuSet cpus;  // kernel's numbers
};

// Moves that were applied together.
struct RecordedTurn {
  double seconds = 0;  // since the mapper started
  std::vector<RecordedMove> moves;
};

// `text`: the JSON of a report, which is not trusted. The turns are in the order of their times;
// intervals without moves are left out. An error says what is wrong with the text.
Result<std::vector<RecordedTurn>> parse_recorded_moves(std::string_view text);
// Reads a regular file as the user. An error names it.
Result<std::vector<RecordedTurn>> read_recorded_moves(const std::string& path);

}  // namespace ondeloc
