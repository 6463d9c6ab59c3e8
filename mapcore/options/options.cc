// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/options/algorithm_table.h"
#include "mapcore/options/option_table.h"
#include "mapcore/options/suggestion.h"

namespace ondeloc {
namespace {

constexpr std::uint32_t kLongestInterval = 3'600'000;  // ms

Status check_text(std::string_view text) {
  if (text.size() > kMaxOptionLength)
    return Error(
        fmt::format("the value has {} characters: {} is the most", text.size(), kMaxOptionLength));
  if (std::any_of(text.begin(), text.end(), is_control))
    return Error("the value holds a control character");
  return {};
}

Status set_mode(Options& options, std::string_view piece) {
  const std::size_t colon = piece.find(':');
  const std::string_view name = piece.substr(0, colon);
  const std::string_view argument = colon == piece.npos ? "" : piece.substr(colon + 1);
  for (const ModeRow& row : mode_rows()) {
    if (row.name != name) continue;
    if (row.argument.empty() && colon != piece.npos)
      return Error(
          fmt::format("mode '{}' takes no argument, but '{}' follows it", name, shorten(argument)));
    if (!row.argument.empty() && argument.empty())
      return Error(fmt::format("mode '{0}' needs a file; use {0}:{1}", name, row.argument));
    options.mode = row.mode;
    options.file = argument;
    return {};
  }
  return unknown_word("mode", name, mode_rows());
}

const KeyRow* find_key(std::string_view name) {
  const auto rows = key_rows();
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const KeyRow& candidate) { return candidate.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

// `given`: names seen so far. A key given twice is more likely a mistake than a wish.
Status set_key(Options& options, std::string_view piece, std::vector<std::string_view>& given) {
  const std::size_t equals = piece.find('=');
  const std::string_view name = piece.substr(0, equals);
  const std::string_view value = equals == piece.npos ? "" : piece.substr(equals + 1);
  const KeyRow* row = find_key(name);
  if (row == nullptr) return unknown_word("key", name, key_rows());
  if (row->value.empty() && equals != piece.npos)
    return Error(fmt::format("{} takes no value", name));
  if (!row->value.empty() && value.empty())
    return Error(fmt::format("{} needs a value: {}={}", name, name, row->value));
  if (std::find(given.begin(), given.end(), name) != given.end())
    return Error(fmt::format("{} is given twice", name));
  given.push_back(name);
  Status good = row->set(options, value);
  if (good || good.error().message().starts_with(name)) return good;
  return std::move(good).error().within(name);
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_modes(const Options& options, const std::vector<std::string_view>& given) {
  for (const std::string_view key : given) {
    const Modes& modes = key_row(key).modes;
    if (!modes.has(options.mode))
      return Error(fmt::format("{} goes with {} only", key, modes_text(modes)));
  }
  if (options.mode == Mode::kProfile && options.transport == Transport::kPmix)
    return Error("transport=pmix goes with online: its events carry sums, not single messages");
  return {};
}

Status check_intervals(Options& options, const std::vector<std::string_view>& given) {
  if (options.max_interval_ms >= options.interval_ms) return {};
  if (contains(given, "max-interval"))
    return Error(fmt::format("max-interval: {} is below the interval of {}",
                             interval_text(options.max_interval_ms),
                             interval_text(options.interval_ms)));
  options.max_interval_ms = options.interval_ms;
  return {};
}

Status check_layout(const Options& options) {
  if (options.mode != Mode::kStatic || !is_layout(options.file)) return {};
  if (options.relative)
    return Error("relative goes with a rankfile: a layout of lama has no numbers of CPUs");
  auto row = find_algorithm_row(options.file);
  return row ? Status() : std::move(row).error().within("static");
}

// The rules that need all keys.
Status check_together(Options& options, const std::vector<std::string_view>& given) {
  if (Status good = check_modes(options, given); !good) return good;
  if (options.mode == Mode::kStatic) options.decide = Decide::kNever;
  if (Status good = check_layout(options); !good) return good;
  if (options.mode == Mode::kProfile) {
    if (Status good = check_file_pattern(options.file); !good)
      return std::move(good).error().within("profile");
  }
  return check_intervals(options, given);
}

}  // namespace

bool is_layout(std::string_view file) { return file.starts_with("lama:"); }

Result<std::uint32_t> parse_interval(std::string_view text) {
  const auto seconds = parse_quantity(text, Quantity::kSeconds);
  if (!seconds) return seconds.error();
  const double ms = std::round(*seconds * 1000);
  if (ms < 1 || ms > kLongestInterval)
    return Error(fmt::format("'{}' is out of range; use a time from 1ms to 1h", shorten(text)));
  return static_cast<std::uint32_t>(ms);
}

std::string interval_text(std::uint32_t ms) {
  return argument_text(ms / 1000.0, Quantity::kSeconds);
}

Options with_least_interval(Options options, std::uint32_t min_interval_ms) {
  options.interval_ms = std::max(options.interval_ms, min_interval_ms);
  options.max_interval_ms = std::max(options.max_interval_ms, options.interval_ms);
  return options;
}

std::string raised_interval(const Options& options, std::uint32_t min_interval_ms) {
  const bool is_default = options.interval_ms == Options().interval_ms;
  if (is_default || options.interval_ms >= min_interval_ms) return "";
  return fmt::format("interval: {} is below this site's minimum; {} is used instead",
                     interval_text(options.interval_ms), interval_text(min_interval_ms));
}

std::string_view mode_name(Mode mode) {
  for (const ModeRow& row : mode_rows())
    if (row.mode == mode) return row.name;
  return "profile";
}

Result<Options> parse_options(std::string_view text) {
  if (Status good = check_text(text); !good) return std::move(good).error();
  Options options;
  std::vector<std::string_view> given;
  const auto pieces = split(text, ',');
  if (Status good = set_mode(options, pieces.front()); !good) return std::move(good).error();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (Status good = set_key(options, pieces[i], given); !good) return std::move(good).error();
  }
  if (Status good = check_together(options, given); !good) return std::move(good).error();
  return options;
}

}  // namespace ondeloc
