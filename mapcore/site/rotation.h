// SPDX-License-Identifier: Apache-2.0
// Removes old reports from a directory that every user of a site may write to. Whoever owns the
// directory (or root) runs this: in a sticky directory nobody else can remove the files of others.
// Only regular files with the name of a site's report go, each by its name in the opened directory:
// a link is not followed, and a user that swaps names there can lose own files only. Thread safety:
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

struct Rotation {
  std::optional<std::time_t> oldest;  // files last written before go
  // Then the oldest go, until no more are left; before them files that are too large for a report.
  // The holes of a file do not count.
  std::optional<std::uint64_t> most_bytes;
};

struct Rotated {
  std::size_t removed = 0;
  std::uint64_t bytes = 0;  // that the removed files had
  std::size_t failed = 0;   // files that could not be removed
  std::string why;          // the first of these
};

// Error: the directory cannot be read.
Result<Rotated> rotate_reports(const std::string& path, const Rotation& rule);

}  // namespace ondeloc
