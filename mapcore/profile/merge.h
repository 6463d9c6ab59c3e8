// SPDX-License-Identifier: Apache-2.0
// Merges the profiles of several nodes of one step into one. Shifts the times of each file so that
// the CLOCK_REALTIME of all time zeros agree. The offset between nodes comes from their system
// clocks and is not measured; the file records it for each node. Memory: one block. Thread safety:
// pure but for files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/profile/event.h"
#include "mapcore/profile/writer.h"

namespace ondeloc {

struct MergeInput {
  std::string path;  // "-" is standard input
  UniqueFd fd;       // of the profile, which can be read at any place
};

struct MergeResult {
  std::uint64_t events = 0;
  std::vector<NodeShift> nodes;
  bool clocks_unknown = false;      // a file without a system clock: its times are not shifted
  std::vector<std::string> damage;  // of the inputs, one sentence each
};

// Inputs may be merged profiles themselves. Errors: fewer than two files, files of different steps
// or sizes, a node or a file twice, an output that is an input. The output is whole or not there. A
// damaged input has a note in the output, which has an end block only if all inputs have one.
Result<MergeResult> merge_profiles(std::vector<MergeInput> inputs, const std::string& output,
                                   const Progress& progress = {});

}  // namespace ondeloc
