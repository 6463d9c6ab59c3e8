// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

std::string name_of_input(const std::string& path) {
  if (path.empty()) return "a file without a name";  // "$FILE" of a script that has not set it
  return path == "-" ? "standard input" : shorten_path(path);
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const bool is_standard_input = path == "-";
  const UniqueFd file(is_standard_input ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_standard_input && file.get() < 0) return Error::from_errno(name_of_input(path));
  const int fd = is_standard_input ? STDIN_FILENO : file.get();
  std::string text;
  for (;;) {
    constexpr std::size_t kChunk = 65536;
    const std::size_t had = text.size();
    text.resize(had + kChunk);
    const ssize_t got = read(fd, text.data() + had, kChunk);
    text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno != EINTR) return Error::from_errno(name_of_input(path));
    if (got == 0) return text;
    if (text.size() > most)
      return Error(fmt::format("{}: larger than {}", name_of_input(path),
                               capacity_text(static_cast<double>(most))));
  }
}

}  // namespace ondeloc
