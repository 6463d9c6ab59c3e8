// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/narrow_help.h"

#include "mapcore/base/narrow_text.h"

namespace ondeloc::cli {
namespace {

constexpr std::size_t kWide = 10000;  // columns

// "INT:INT in [1 - 9]": CLI11 names the type, and then the check that names it again.
std::string without_echo(std::string text) {
  for (const std::string_view type : {"UINT:INT in", "INT:INT in", "FLOAT:FLOAT in"}) {
    const std::size_t echo = type.find(':') + 1;
    for (std::size_t at = 0; (at = text.find(type, at)) != text.npos;) text.erase(at, echo);
  }
  return text;
}

// CLI11 breaks lines itself from 2.5 on, for wider terminals: broken once more they would be
// ragged.
template <class Formatter>
void keep_lines_whole(Formatter& formatter) {
  if constexpr (requires { formatter.right_column_width(0U); }) formatter.right_column_width(kWide);
  if constexpr (requires { formatter.enable_description_formatting(false); })
    formatter.enable_description_formatting(false);
  if constexpr (requires { formatter.enable_footer_formatting(false); })
    formatter.enable_footer_formatting(false);
}

class NarrowHelp : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return narrow_text(without_echo(CLI::Formatter::make_help(app, std::move(name), mode)));
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> narrow_help() {
  auto help = std::make_shared<NarrowHelp>();
  keep_lines_whole(*help);
  return help;
}

}  // namespace ondeloc::cli
