// SPDX-License-Identifier: Apache-2.0
// Small bounded parsers and the shortening that every message about user input goes through.
// Thread safety: pure functions. None throws but std::bad_alloc; a failed parse is an empty
// optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ondeloc {

// Decimal digits only, no sign, no blanks, at most `max`.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max = UINT64_MAX);
// A finite decimal number, whole text, independent of the locale.
std::optional<double> parse_double(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty pieces
std::string_view trim_blanks(std::string_view text);
// What does things to terminals instead of being shown on them; bytes of UTF-8 are none.
inline bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }
// A field of CSV: R and spreadsheets put names into quotes, some of them numbers too.
std::string_view csv_field(std::string_view text);
// Spreadsheets and editors put a byte order mark before the UTF-8 that they write.
std::string_view without_mark(std::string_view text);
// JSON whose brackets nest deeper than anything of ours: parsers that recurse would overflow the
// stack. Looks at brackets outside strings only, so it says nothing of whether the text is JSON.
inline constexpr int kMaxJsonDepth = 64;
bool is_json_too_deep(std::string_view text);
// The text for a message: at most 40 characters, control and non-ASCII bytes as '?', "..." where
// cut.
std::string shorten(std::string_view text);
// As shorten, for the name of a file: the last 60 characters, which tell more than the first.
std::string shorten_path(std::string_view path);

}  // namespace ondeloc
