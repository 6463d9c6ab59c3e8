// SPDX-License-Identifier: Apache-2.0
// Small bounded parsers, and the functions that shorten user input for messages. Thread safety:
// pure functions. None throws but std::bad_alloc; a failed parse is an empty optional.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ondeloc {

// Decimal digits only, no sign, no blanks, at most `max`.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max = UINT64_MAX);
// The number behind `key` in the first line that begins with it, as in /proc/PID/status. Empty,
// too, if no number follows.
std::optional<std::uint64_t> status_number(std::string_view text, std::string_view key);
// A finite decimal number, whole text, independent of the locale.
std::optional<double> parse_double(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty pieces
// The pieces point into the text, so the compiler refuses a text that ends with the expression.
void split(std::same_as<std::string> auto&& text, char separator) = delete;
std::string_view trim_blanks(std::string_view text);
// True for the ASCII controls. Text for terminals and logs goes through printable() instead.
inline bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }
// Returns a field of CSV without blanks and quotes: R and spreadsheets quote names and some
// numbers.
std::string_view csv_field(std::string_view text);
// Returns the text without the byte order mark that spreadsheets and editors put before UTF-8.
std::string_view without_mark(std::string_view text);
// True if brackets nest deeper than in any file that we write: a recursive parser could overflow
// the stack. Counts brackets outside strings only; the text need not be JSON.
inline constexpr int kMaxJsonDepth = 64;
bool is_json_too_deep(std::string_view text);
// Returns the text for a message: printable(), at most 40 bytes of it, and "..." if it was cut.
std::string shorten(std::string_view text);
// The same for the name of a file: keeps the last 60 bytes, which differ more than the first.
std::string shorten_path(std::string_view path);
// Returns "1 rank", "2 ranks".
std::string counted(std::size_t count, std::string_view noun);

}  // namespace ondeloc
