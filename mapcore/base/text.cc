// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "mapcore/base/printable.h"

namespace ondeloc {

std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value > max) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    pieces.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return pieces;
    from = to + 1;
  }
}

std::string_view trim_blanks(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::optional<std::uint64_t> status_number(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::string_view rest = trim_blanks(line.substr(key.size()));
    return parse_unsigned(rest.substr(0, rest.find_first_of(" \t")));
  }
  return std::nullopt;
}

std::string_view csv_field(std::string_view text) {
  text = trim_blanks(text);
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

bool is_json_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++depth > kMaxJsonDepth) return true;
    } else if (!in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

std::string shorten(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return printable(text.substr(0, cut_length(text, kMost))) + (text.size() > kMost ? "..." : "");
}

std::string shorten_path(std::string_view path) {
  constexpr std::size_t kMost = 60;
  if (path.size() <= kMost) return printable(path);
  // A character that begins before the cut is left out.
  std::string_view end = path.substr(path.size() - kMost);
  while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xc0U) == 0x80U)
    end.remove_prefix(1);
  return "..." + printable(end);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace ondeloc
