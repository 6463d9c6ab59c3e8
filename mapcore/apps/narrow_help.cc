// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/narrow_help.h"

#include "mapcore/base/narrow_text.h"

namespace ondeloc::cli {
namespace {

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

std::shared_ptr<CLI::FormatterBase> narrow_help() { return std::make_shared<NarrowHelp>(); }

}  // namespace ondeloc::cli
