// SPDX-License-Identifier: Apache-2.0
// Reads a whole text file of bounded size. Call it as the user, never as root. Errors name the
// file.
#pragma once

#include <cstddef>
#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

// True if the open file is not a pipe, a directory or a device. It can be read at any place then.
bool is_regular(int fd);
// Appends what the open file still has, until `text` has `most` bytes. An error has `name`.
Status read_on(int fd, std::string& text, std::size_t most, const std::string& name);
// kFile: regular files only, because this process must not wait for the writer of a pipe.
enum class ReadFrom { kAnything, kFile };
// "-" is standard input, unless `from` is kFile. A file of more than `most` bytes is an error, and
// the rest is not read.
Result<std::string> read_file(const std::string& path, std::size_t most,
                              ReadFrom from = ReadFrom::kAnything);
// Returns the name for a message: "standard input" for "-", else the shortened path.
std::string name_of_input(const std::string& path);

}  // namespace ondeloc
