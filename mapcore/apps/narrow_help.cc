// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/narrow_help.h"

#include <fmt/format.h>

#include "mapcore/base/narrow_text.h"

namespace ondeloc::cli {
namespace {

constexpr std::size_t kWide = 10000;  // columns

// Removes the second name of the type from "INT:INT in [1 - 9]": the check of CLI11 repeats it.
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
  // CLI11 lists an option that is also a positional argument twice, each time with its text.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    if (is_positional || !option->get_positional())
      return CLI::Formatter::make_option(option, is_positional);
    return fmt::format("  {:<{}}the same as {}\n", make_option_name(option, false),
                       get_column_width() - 2, option->get_name(true));
  }

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
