// SPDX-License-Identifier: Apache-2.0
// --help as CLI11 words it, for a terminal of 80 columns. Thread safety: pure functions.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>

namespace ondeloc::cli {

// Subcommands that are added to an application afterwards inherit it.
std::shared_ptr<CLI::FormatterBase> narrow_help();

}  // namespace ondeloc::cli
