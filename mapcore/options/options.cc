// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mapcore/base/text.h"
#include "mapcore/options/option_table.h"

namespace ondeloc {
namespace {

constexpr std::uint32_t kLongestInterval = 3'600'000;

struct Unit {
  std::string_view name;
  double ms;
};
constexpr Unit kUnits[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};

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
      return Error(fmt::format("mode '{}' takes no argument, not '{}'", name, shorten(argument)));
    if (!row.argument.empty() && argument.empty())
      return Error(fmt::format("mode '{0}' needs a file: use {0}:{1}", name, row.argument));
    options.mode = row.mode;
    options.file = argument;
    return {};
  }
  return Error(fmt::format("mode '{}' is not known: use {}", shorten(name), names_of(mode_rows())));
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
  if (row == nullptr)
    return Error(fmt::format("key '{}' is not known: use {}", shorten(name), names_of(key_rows())));
  if (row->value.empty() && equals != piece.npos)
    return Error(fmt::format("{} takes no value", name));
  if (!row->value.empty() && value.empty())
    return Error(fmt::format("{} needs a value: {}={}", name, name, row->value));
  if (std::find(given.begin(), given.end(), name) != given.end())
    return Error(fmt::format("{} is given twice", name));
  given.push_back(name);
  if (Status good = row->set(options, value); !good) return std::move(good).error().within(name);
  return {};
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What only shows when all keys are there.
Status check_together(Options& options, const std::vector<std::string_view>& given) {
  if (options.relative && options.mode != Mode::kStatic)
    return Error("relative goes with static:FILE only");
  if (contains(given, "cells") && options.mode != Mode::kProfile)
    return Error("cells goes with profile:FILE only");
  if (options.mode == Mode::kStatic || options.mode == Mode::kProfile) {
    for (const std::string_view key : {"algorithm", "threshold", "decide", "memory"}) {
      if (contains(given, key)) return Error(fmt::format("{} goes with online only", key));
    }
  }
  if (options.mode == Mode::kStatic) options.decide = Decide::kNever;
  if (options.mode == Mode::kProfile) {
    if (Status good = check_file_pattern(options.file); !good)
      return std::move(good).error().within("profile");
    if (contains(given, "report"))
      return Error("report goes with online and static, not with profile");
    if (options.transport == Transport::kPmix)
      return Error("transport=pmix goes with online: its events do not carry single messages");
  }
  if (options.max_interval_ms < options.interval_ms) {
    if (contains(given, "max-interval"))
      return Error(fmt::format("max-interval: {} ms is below the interval of {} ms",
                               options.max_interval_ms, options.interval_ms));
    options.max_interval_ms = options.interval_ms;
  }
  return {};
}

}  // namespace

Result<std::uint32_t> parse_interval(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_double(text.substr(0, digits));
  for (const Unit& unit : kUnits) {
    if (!number || unit.name != text.substr(digits)) continue;
    const double ms = std::round(*number * unit.ms);
    if (ms < 1 || ms > kLongestInterval) break;
    return static_cast<std::uint32_t>(ms);
  }
  return Error(fmt::format("'{}' is no time from 1ms to 1h: use for example 500ms, 2s or 1.5m",
                           shorten(text)));
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
