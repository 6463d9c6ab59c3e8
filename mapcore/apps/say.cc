// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/say.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include "mapcore/base/text.h"

namespace ondeloc::cli {

std::size_t terminal_width(int fd) {
  constexpr std::size_t kUsual = 80, kNarrowest = 20;
  if (isatty(fd) == 0) return 0;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::max<std::size_t>(size.ws_col, kNarrowest);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

void say(std::string_view sentence) {
  // A command that reads a file twice finds the same faults twice.
  static std::set<std::string, std::less<>> said;
  if (!said.emplace(sentence).second) return;
  std::string text = "ondeloc: " + std::string(sentence);
  if (const std::size_t width = terminal_width(STDERR_FILENO); width > 0)
    text = wrapped(text, width, 2);
  text += '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace ondeloc::cli
