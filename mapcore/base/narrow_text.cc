// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/narrow_text.h"

#include <algorithm>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 30;  // where descriptions begin, ours and CLI11's

std::size_t text_begins(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const bool is_option = first < kColumn && line.substr(first).starts_with("--");
  return first == 2 || is_option ? kColumn : first;
}

void append_narrow(std::string& out, std::string_view line) {
  const std::size_t begin = text_begins(line);
  const std::string indent(begin, ' ');
  for (std::size_t room = kWidth, from = begin; line.size() > room;
       room = kWidth - begin, from = 0) {
    std::size_t blank = line.rfind(' ', room);
    if (blank == line.npos || blank <= from) blank = line.find(' ', room);
    if (blank == line.npos) break;
    out.append(line.substr(0, blank)).append("\n").append(indent);
    line.remove_prefix(blank + 1);
  }
  out += line;
}

}  // namespace

std::string narrow_text(std::string_view text) {
  std::string out;
  int empty = 0;
  for (const std::string_view line : split(text, '\n')) {
    empty = line.empty() ? empty + 1 : 0;
    if (empty > 1) continue;  // CLI11 leaves two lines before a group
    if (!out.empty()) out += '\n';
    append_narrow(out, line);
  }
  return out;
}

}  // namespace ondeloc
