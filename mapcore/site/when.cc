// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/when.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t kMostUnits = 100'000;  // of any unit: 273 years in days

std::optional<std::time_t> unit_of(char letter) {
  switch (letter) {
    case 'd':
      return 24 * 3600;
    case 'h':
      return 3600;
    case 'm':
      return 60;
    default:
      return std::nullopt;
  }
}

// The number in text[from, from + length), if it is one from `least` to `most`.
std::optional<int> number_at(std::string_view text, std::size_t from, std::size_t length, int least,
                             int most) {
  const auto number = parse_unsigned(text.substr(from, length), static_cast<std::uint64_t>(most));
  if (!number || static_cast<int>(*number) < least) return std::nullopt;
  return static_cast<int>(*number);
}

// YYYY-MM-DD or YYYY-MM-DDTHH:MM, fields in range.
std::optional<std::tm> fields_of(std::string_view text) {
  constexpr std::size_t kDate = 10, kMinute = 16;
  if (text.size() != kDate && text.size() != kMinute) return std::nullopt;
  if (text[4] != '-' || text[7] != '-') return std::nullopt;
  if (text.size() == kMinute && (text[10] != 'T' || text[13] != ':')) return std::nullopt;
  const bool has_time = text.size() == kMinute;
  const auto year = number_at(text, 0, 4, 1970, 9999), month = number_at(text, 5, 2, 1, 12),
             day = number_at(text, 8, 2, 1, 31);
  const auto hour = has_time ? number_at(text, 11, 2, 0, 23) : 0,
             minute = has_time ? number_at(text, 14, 2, 0, 59) : 0;
  if (!year || !month || !day || !hour || !minute) return std::nullopt;
  std::tm fields{};
  fields.tm_year = *year - 1900;
  fields.tm_mon = *month - 1;
  fields.tm_mday = *day;
  fields.tm_hour = *hour;
  fields.tm_min = *minute;
  fields.tm_isdst = -1;
  return fields;
}

std::optional<std::time_t> date_of(std::string_view text) {
  auto fields = fields_of(text);
  if (!fields) return std::nullopt;
  const int day = fields->tm_mday;
  const std::time_t when = std::mktime(&*fields);
  if (when == -1 || fields->tm_mday != day) return std::nullopt;  // 31 February
  return when;
}

}  // namespace

Result<std::time_t> parse_age(std::string_view text) {
  const auto unit = text.empty() ? std::nullopt : unit_of(text.back());
  const auto count =
      unit ? parse_unsigned(text.substr(0, text.size() - 1), kMostUnits) : std::nullopt;
  if (count && *count > 0) return static_cast<std::time_t>(*count) * *unit;
  return Error(fmt::format("'{}' is not an age; write 30d, 36h or 90m", shorten(text)));
}

Result<std::time_t> parse_since(std::string_view text, std::time_t now) {
  if (const auto date = date_of(text)) return *date;
  if (const auto age = parse_age(text)) return now - *age;
  return Error(
      fmt::format("'{}' is not a time; write an age (30d, 36h, 90m) or a date (2026-11-25 "
                  "or 2026-11-25T08:30)",
                  shorten(text)));
}

std::string date_text(std::time_t when) {
  std::tm fields{};
  if (::localtime_r(&when, &fields) == nullptr) return "?";
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &fields)};
}

}  // namespace ondeloc
