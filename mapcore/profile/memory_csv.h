// SPDX-License-Identifier: Apache-2.0
// Reads memory volumes for CommR and DramR, for runs without recorded counters: lines
// `rank,accessed_bytes[,dram_bytes]` with an optional header line. Errors: one sentence with file
// and line. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/profile/writer.h"

namespace ondeloc {

// Ascending rank, each once. Errors call the text `name`.
Result<std::vector<RankMemory>> parse_memory_csv(std::string_view text, const std::string& name,
                                                 int ranks);
Result<std::vector<RankMemory>> read_memory_csv(const std::string& path, int ranks);

}  // namespace ondeloc
