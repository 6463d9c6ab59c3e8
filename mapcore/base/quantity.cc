// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <span>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

// The decimal units come first, in ascending order: argument_text() writes these.
constexpr Unit kByteUnits[] = {{"B", 1},           {"kB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
                               {"TB", 1e12},       {"PB", 1e15},    {"EB", 1e18},   {"KiB", 1024.0},
                               {"MiB", 1048576.0}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr std::size_t kDecimalByteUnits = 7;
constexpr Unit kTimeUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3},
                               {"s", 1},     {"m", 60},    {"h", 3600}};
constexpr std::size_t kDecimalTimeUnits = 4;

struct Kind {
  const char* what;        // for "is not ..."
  const char* example;     // a whole quantity
  const char* first_unit;  // units that a bare number may have meant
  const char* second_unit;
  std::span<const Unit> units;
  std::size_t decimal;      // units that argument_text() uses
  std::string_view suffix;  // behind every unit
};

Kind kind_of(Quantity kind) {
  switch (kind) {
    case Quantity::kBytes:
      return {"an amount of data", "512MiB", "MB", "GB", kByteUnits, kDecimalByteUnits, ""};
    case Quantity::kBytesPerSecond:
      return {"a bandwidth", "20GB/s", "MB/s", "GB/s", kByteUnits, kDecimalByteUnits, "/s"};
    case Quantity::kSeconds:
      break;
  }
  return {"a time", "500ms", "ms", "s", kTimeUnits, kDecimalTimeUnits, ""};
}

Error not_a_quantity(std::string_view text, const Kind& kind) {
  return Error(fmt::format("'{}' is not {}; write a number with a unit, for example {}",
                           shorten(text), kind.what, kind.example));
}

}  // namespace

Result<double> parse_quantity(std::string_view text, Quantity what) {
  const Kind kind = kind_of(what);
  const bool begins = !text.empty() && text.front() >= '0' && text.front() <= '9';
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data(), end, number);
  if (!begins || bad != std::errc()) return not_a_quantity(text, kind);
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (unit.empty())
    return Error(fmt::format("'{0}' has no unit; write for example {0}{1} or {0}{2}", shorten(text),
                             kind.first_unit, kind.second_unit));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!unit.ends_with(kind.suffix)) return not_a_quantity(text, kind);
  unit.remove_suffix(kind.suffix.size());
  for (const Unit& candidate : kind.units) {
    if (candidate.name == unit && std::isfinite(number * candidate.size))
      return number * candidate.size;
  }
  return not_a_quantity(text, kind);
}

std::string number_text(double number) {
  if (number < 1000) return fmt::format("{:.4g}", number);
  return fmt::format("{:.15g}", std::round(number * 10) / 10);
}

std::string seconds_text(double seconds) {
  if (seconds < 0) return fmt::format("-{}", seconds_text(-seconds));
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return number_text(seconds) + " s";
}

std::string percent_text(double share) {
  constexpr double kWhole = 99.5;  // rounds to three digits
  const double percent = 100 * share;
  if (std::abs(percent) < kWhole) return fmt::format("{:.2g} %", percent);
  return fmt::format("{:.15g} %", std::round(percent));
}

std::string bytes_text(double bytes) {
  constexpr double kNext = 999.95;  // rounds to 1000
  std::size_t unit = 0;
  for (; bytes >= kNext && unit + 1 < kDecimalByteUnits; ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, kByteUnits[unit].name);
}

std::string capacity_text(double bytes) {
  std::size_t unit = kDecimalByteUnits;
  while (unit + 1 < std::size(kByteUnits) && bytes >= kByteUnits[unit + 1].size) ++unit;
  return fmt::format("{:.4g} {}", bytes / kByteUnits[unit].size, kByteUnits[unit].name);
}

std::string rate_text(double rate) { return bytes_text(rate) + "/s"; }

std::string argument_text(double value, Quantity what) {
  const Kind kind = kind_of(what);
  const auto units = kind.units.first(kind.decimal);
  std::size_t unit = units.size() - 1;
  while (unit > 0 && value < units[unit].size) --unit;
  if (value == 0 && what == Quantity::kSeconds) unit = units.size() - 1;
  return fmt::format("{:.15g}{}{}", value / units[unit].size, units[unit].name, kind.suffix);
}

}  // namespace ondeloc
