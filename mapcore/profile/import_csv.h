// SPDX-License-Identifier: Apache-2.0
// events.csv -> profile file. Lines `time_us,src,dst,bytes` with an optional header line; times may
// have three decimals; order does not matter. The file is read twice (ranks first), memory is
// bounded; "-" is standard input, which is copied to disk (/tmp) first. Errors: one sentence with
// file and line; the old output file is kept. Thread safety: pure but for the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/profile/event.h"

namespace ondeloc {

struct ImportCounts {
  std::uint64_t events = 0;
  int ranks = 0;
};

// Reads one line without its end; nullopt if it is not an event.
std::optional<ProfileEvent> parse_event_line(std::string_view line);

// `ranks` 0: one more than the largest rank in the file.
Result<ImportCounts> import_events_csv(const std::string& csv, const std::string& profile,
                                       int ranks = 0, const Progress& progress = {});

}  // namespace ondeloc
