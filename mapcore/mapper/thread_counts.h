// SPDX-License-Identifier: Apache-2.0
// static:FILE with lines for threads and a report: compares the threads that each rank of the node
// was seen with and those that the file has lines for. Thread safety: for one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/options/options.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

class ThreadCounts {
 public:
  // Reads the rankfile of static:FILE as the user. A file that cannot be read has no threads here:
  // the tasks have told about it already.
  explicit ThreadCounts(const Options& options);

  // Counts the threads of each rank that has lines for threads. Nothing is done if none has.
  void look(const Ranks& ranks);
  // Returns a sentence for each rank whose numbers differ, in the order of the ranks.
  std::vector<std::string> notes() const;

 private:
  struct Count {
    std::size_t placed = 0;  // threads up to the last one with a line
    std::size_t most = 0;    // threads seen at a time; 0: the rank is not on this node
  };
  std::map<WorldRank, Count> counts_;
};

}  // namespace ondeloc
