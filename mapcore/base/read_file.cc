// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/read_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

std::string name_of_input(const std::string& path) {
  if (path.empty()) return "a file without a name";  // "$FILE" of a script that has not set it
  return path == "-" ? "standard input" : shorten_path(path);
}

bool is_regular(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

Status read_on(int fd, std::string& text, std::size_t most, const std::string& name) {
  std::size_t used = text.size();
  while (used < most) {
    // Files in /proc give a page at a time, and new room is filled with zeros: so it is small.
    constexpr std::size_t kLeastRoom = 4096;
    if (text.size() < used + kLeastRoom) text.resize(std::min(most, 2 * used + kLeastRoom));
    const ssize_t got = read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(name);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);
  return {};
}

Result<std::string> read_file(const std::string& path, std::size_t most, ReadFrom from) {
  const bool needs_file = from == ReadFrom::kFile;
  const bool is_standard_input = path == "-" && !needs_file;
  const int flags = O_RDONLY | O_CLOEXEC | (needs_file ? O_NONBLOCK : 0);
  const UniqueFd file(is_standard_input ? -1 : open(path.c_str(), flags));
  if (!is_standard_input && file.get() < 0) return Error::from_errno(name_of_input(path));
  if (needs_file && !is_regular(file.get()))
    return Error(name_of_input(path) + ": not a regular file; name one");
  const int fd = is_standard_input ? STDIN_FILENO : file.get();
  std::string text;
  if (Status read = read_on(fd, text, most + 1, name_of_input(path)); !read)
    return std::move(read).error();
  if (text.size() <= most) return text;
  return Error(fmt::format("{}: larger than {}", name_of_input(path),
                           capacity_text(static_cast<double>(most))));
}

}  // namespace ondeloc
