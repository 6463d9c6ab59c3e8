// SPDX-License-Identifier: Apache-2.0
// --help as CLI11 words it, for a terminal of 80 columns. Thread safety: pure functions.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace ondeloc::cli {

// Lines of more than 80 characters go on below where their text began; a word is never cut.
std::string narrow_text(std::string_view text);

// Subcommands that are added to an application afterwards inherit it.
std::shared_ptr<CLI::FormatterBase> narrow_help();

}  // namespace ondeloc::cli
