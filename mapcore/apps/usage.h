// SPDX-License-Identifier: Apache-2.0
// Messages about a wrong command line. Thread safety: for one thread.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace ondeloc::cli {

// The words after the program's name, with `help COMMAND` as `COMMAND --help`.
std::vector<std::string> command_words(int argc, char** argv);

// Prints the error with a hint, or the help if the user asked for it. Returns the exit code.
int tell_usage(CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace ondeloc::cli
