// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/usage.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/text.h"
#include "mapcore/options/suggestion.h"

namespace ondeloc::cli {
namespace {

constexpr int kWrongUsage = 2;

const CLI::App* subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* known : app.get_subcommands({})) {
    if (known->get_name() == name) return known;
  }
  return nullptr;
}

// The command that the words name, and how many words name it.
struct Named {
  const CLI::App* command;
  std::size_t words = 0;
};

Named named_command(const CLI::App& app, const std::vector<std::string>& words) {
  Named named{&app};
  while (named.words < words.size()) {
    const CLI::App* next = subcommand(*named.command, words[named.words]);
    if (next == nullptr) break;
    named.command = next;
    ++named.words;
  }
  return named;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "ondeloc" : path_of(*parent) + " " + command.get_name();
}

int say_wrong(const std::string& sentence, const CLI::App& command) {
  say(sentence);
  say(fmt::format("'{} --help' tells more", path_of(command)));
  return kWrongUsage;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

int say_unknown_option(const CLI::App& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  const std::vector<std::string> names = option_names(command);
  const std::string_view meant = closest_word(option, {names.begin(), names.end()});
  return say_wrong(fmt::format("'{}' is not an option of '{}'{}", shorten(option), path_of(command),
                               meant.empty() ? "" : fmt::format("; did you mean {}?", meant)),
                   command);
}

int say_unknown_command(const CLI::App& parent, const std::string& word) {
  std::vector<std::string_view> names;
  for (const CLI::App* known : parent.get_subcommands({})) names.push_back(known->get_name());
  const std::string_view meant = closest_word(word, names);
  return say_wrong(fmt::format("'{}' is not a command; {}", shorten(word),
                               meant.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean {}?", meant)),
                   parent);
}

// CLI11 reports a missing option before an unknown one: for `map --matirx FILE` it would say that
// --matrix is required.
std::string unknown_option(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word.size() > 1 && word.front() == '-' && word != "--") return word;
  }
  return "";
}

// CLI11 calls FILE by the option that may stand for it, such as --matrix.
std::string missing_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0)
      return option->get_positional() ? option->get_name(true) : option->get_name();
  }
  return "";
}

// CLI11's own sentences about the number of values tell its types ("1 required TEXT missing"), and
// those about extra words leave out the command.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& command) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (error.get_name() == "ArgumentMismatch" && text.ends_with(" missing"))
    return option + " needs a value";
  if (error.get_name() == "ArgumentMismatch" && text.find(" At Most ") != text.npos)
    return option + " is given more than once; give it once";
  // The name of an ExtrasError is that of the command.
  const std::vector<std::string> extra = command.remaining();
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError) || extra.empty())
    return text;
  return fmt::format("'{}' is one word too many; '{}' takes fewer", shorten(extra.front()),
                     path_of(command));
}

int print_help(const CLI::App& app, const CLI::ParseError& error) {
  app.exit(error);
  if (std::cout.flush()) return 0;
  std::perror("ondeloc: standard output");
  return 1;
}

}  // namespace

std::vector<std::string> command_words(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

int tell_usage(CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto [command, used] = named_command(app, words);
  const bool has_commands = !command->get_subcommands({}).empty();
  if (has_commands && used < words.size() && !words[used].starts_with('-'))
    return say_unknown_command(*command, words[used]);
  if (error.get_exit_code() == 0) return print_help(app, error);
  if (const std::string word = unknown_option(*command); !word.empty())
    return say_unknown_option(*command, word);
  if (error.get_name() == "RequiredError" && has_commands)
    return say_wrong(fmt::format("'{}' needs a command", path_of(*command)), *command);
  const std::string missing = error.get_name() == "RequiredError" ? missing_option(*command) : "";
  return say_wrong(missing.empty() ? sentence_of(error, *command) : missing + " is required",
                   *command);
}

}  // namespace ondeloc::cli
