// SPDX-License-Identifier: Apache-2.0
// The recorded events of an NPB program on 32 ranks, read without the library: golden values are
// computed from these.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/test_data.h"

namespace ondeloc {

struct Row {
  long time, src, dst, bytes;  // time: microseconds
};

inline std::vector<Row> csv_rows(const std::string& app) {
  std::ifstream in(test_data() + "/npb/" + app + ".A.32/events.csv");
  std::string line;
  std::getline(in, line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    Row row{};
    words >> row.time >> row.src >> row.dst >> row.bytes;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace ondeloc
