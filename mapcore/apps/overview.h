// SPDX-License-Identifier: Apache-2.0
// The first page that a user sees (`ondeloc` alone, `ondeloc help`), and the examples of every
// --help. Thread safety: pure functions.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace ondeloc::cli {

// Every command with its line, and where to begin.
std::string overview(const CLI::App& app);

// The footer of a --help: one command per line. A command that is wider than 80 columns goes on
// behind a backslash, so that it can still be copied.
std::string examples(const std::vector<std::string>& commands);

}  // namespace ondeloc::cli
