// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "mapcore/base/narrow_text.h"
#include "mapcore/options/algorithm_table.h"
#include "mapcore/options/option_table.h"

namespace ondeloc {
namespace {

std::string line_of(std::string_view name, std::string_view text) {
  return fmt::format("  {:<27} {}\n", name, text);
}

std::string modes_text() {
  std::string text = "modes\n";
  for (const ModeRow& row : mode_rows()) {
    const std::string name =
        row.argument.empty() ? std::string(row.name) : fmt::format("{}:{}", row.name, row.argument);
    text += line_of(name, row.help);
  }
  return text;
}

std::string keys_text() {
  std::string text = "keys (default)\n";
  for (const KeyRow& row : key_rows()) {
    const std::string name =
        row.value.empty() ? std::string(row.name) : fmt::format("{}={}", row.name, row.value);
    const std::string value = default_of(row);
    const std::string standard = value.empty() ? "" : fmt::format(" ({})", value);
    const std::string only = row.modes.all() ? "" : fmt::format("; {} only", modes_text(row.modes));
    text += line_of(name, fmt::format("{}{}{}", row.help, only, standard));
  }
  return text + "  TIME is a number with a unit: ms, s, m or h\n";
}

std::string algorithms_text() {
  std::string text = "algorithms\n";
  for (const AlgorithmRow& row : kAlgorithmRows)
    text += line_of(fmt::format("{}{}", row.name, row.argument), row.summary);
  return text;
}

// `words`: those behind the plugin's path in plugstack.conf.
std::string site_text(const std::vector<std::string_view>& words) {
  std::string text = "this site (plugstack.conf)\n";
  const auto site = parse_site_options(words);
  if (!site)
    return text + fmt::format("  a wrong word: ondeloc is off ({})\n", site.error().message());
  const SiteOptions standard;
  for (const SiteRow& row : site_rows()) {
    const std::string value = row.get(*site);
    if (value != row.get(standard) || row.name == "default")
      text += line_of(fmt::format("{}={}", row.name, value), row.help);
  }
  return text;
}

}  // namespace

std::string options_help(const std::vector<std::string_view>& site_words) {
  return narrow_text("--ondeloc=MODE[:ARGUMENT][,key=value...]\n\n" + modes_text() + "\n" +
                     keys_text() + "\n" + algorithms_text() + "\n" + site_text(site_words) +
                     "\nThis is ondeloc " ONDELOC_VERSION "; the manual is ondeloc(7).\n");
}

}  // namespace ondeloc
