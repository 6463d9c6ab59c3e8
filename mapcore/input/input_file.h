// SPDX-License-Identifier: Apache-2.0
// Reads the files of all commands: a file, a pipe or standard input, of any kind.
// Reads as the user. Bounds: kMaxInputBytes of text; a profile in a file is not read here. Errors:
// one sentence with the name. Thread safety: for one thread.
#pragma once

#include <string>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/input/input_kind.h"

namespace ondeloc {

inline constexpr std::size_t kMaxInputBytes = std::size_t{1} << 30;

struct InputFile {
  std::string name;  // for messages
  InputKind kind = InputKind::kUnknown;
  std::string text;    // whole; empty for a profile
  UniqueFd profile{};  // of a profile: it can be read at any place, also if it came by a pipe
};

// "-" is standard input. Error: the file does not hold the data that is needed.
Result<InputFile> load_input(const std::string& path, Need need);
// The same for a file of any kind.
Result<InputFile> load_input(const std::string& path);

}  // namespace ondeloc
