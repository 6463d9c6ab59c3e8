// SPDX-License-Identifier: Apache-2.0
// fmt's own code, once for the plugin and for all of its part of mapcore: its headers alone would
// have every file compile it anew (mapcore/options/algorithm_table.cc: four times as long), and a
// shared library has no business in root's daemons. What the other files ask for and is not named
// here is an undefined symbol, which tests/check/plugin tells.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace {

[[gnu::used]] std::string (*const kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;
[[gnu::used]] void (*const kPrint)(fmt::string_view, fmt::format_args) = &fmt::vprint;
[[gnu::used]] void (*const kPrintTo)(std::FILE*, fmt::string_view, fmt::format_args) = &fmt::vprint;

}  // namespace
