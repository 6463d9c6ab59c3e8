// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/overview.h"

#include <fmt/format.h>

#include "mapcore/base/narrow_text.h"
#include "mapcore/base/text.h"

namespace ondeloc::cli {

std::string overview(const CLI::App& app) {
  std::string text = app.get_description() + "\n\nCommands:\n";
  for (const CLI::App* command : app.get_subcommands({}))
    text += fmt::format("  {:<27} {}\n", command->get_name(), command->get_description());
  text +=
      "\nBegin here:\n"
      "  srun --ondeloc=profile:app.prof ./app   record who sends how much to whom\n"
      "  ondeloc profile classify app.prof       does its mapping matter?\n"
      "  ondeloc compare app.prof                which mapping would gain how much?\n"
      "  srun --ondeloc=online,verbose ./app     let ondeloc move ranks as it runs\n"
      "\n'ondeloc help COMMAND' tells more; the manual is ondeloc(1), for srun ondeloc(7).\n";
  return narrow_text(text);
}

namespace {

constexpr std::size_t kWidth = 80;

// Words of a shell: a blank inside quotes or $(...) does not end one.
std::vector<std::string> shell_words(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  int depth = 0;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ' ' && !quoted && depth == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string example(const std::string& command) {
  std::string text, line = " ";
  for (const std::string& word : shell_words(command)) {
    if (line.size() + 1 + word.size() + 2 > kWidth) {
      text += line + " \\\n";
      line = "     ";
    }
    line += " " + word;
  }
  return text + line;
}

}  // namespace

std::string examples(const std::vector<std::string>& commands) {
  std::string text = commands.size() == 1 ? "Example:" : "Examples:";
  for (const std::string& command : commands) text += "\n" + example(command);
  return text;
}

}  // namespace ondeloc::cli
