// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/narrow_help.h"

#include <algorithm>

#include "mapcore/base/text.h"

namespace ondeloc::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 30;  // where CLI11's descriptions begin

// Options stand in lines that begin with two blanks, their descriptions at kColumn.
std::size_t text_begins(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  return first == 2 ? kColumn : first;
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

// "INT:INT in [1 - 9]": CLI11 names the type, and then the check that names it again.
std::string without_echo(std::string text) {
  for (const std::string_view type : {"UINT:INT in", "INT:INT in", "FLOAT:FLOAT in"}) {
    const std::size_t echo = type.find(':') + 1;
    for (std::size_t at = 0; (at = text.find(type, at)) != text.npos;) text.erase(at, echo);
  }
  return text;
}

class NarrowHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return narrow_text(without_echo(CLI::Formatter::make_help(app, std::move(name), mode)));
  }
};

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

std::shared_ptr<CLI::FormatterBase> narrow_help() { return std::make_shared<NarrowHelp>(); }

}  // namespace ondeloc::cli
