// SPDX-License-Identifier: Apache-2.0
// A whole text file as a string, bounded. Reads files; call it as the user, never as root. Errors
// name the file.
#pragma once

#include <cstddef>
#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

// "-" is standard input. More than `most` bytes is an error, and nothing beyond is read.
Result<std::string> read_file(const std::string& path, std::size_t most);
// "standard input" for "-", else the path, shortened for a message.
std::string name_of_input(const std::string& path);

}  // namespace ondeloc
