// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/lama_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

struct Letter {
  std::string_view text;
  int level;
};

// Two characters first, so that L1 is not taken for an unknown L.
constexpr auto kLetters = std::to_array<Letter>(
    {{"L1", 6}, {"L2", 5}, {"L3", 4}, {"n", 0}, {"b", 1}, {"s", 2}, {"N", 3}, {"c", 7}, {"h", 8}});

struct Alias {
  std::string_view name, layout;
  bool sequential;
};

constexpr auto kAliases = std::to_array<Alias>({{"node", "nbsch", false},
                                                {"numa", "Nbnsch", false},
                                                {"socket", "sbnch", false},
                                                {"l3cache", "L3sNbnL2L1ch", false},
                                                {"l2cache", "L2sNbnL1ch", false},
                                                {"l1cache", "L1sNbnch", false},
                                                {"core", "csbnh", false},
                                                {"slot", "csbnh", true},
                                                {"hwthread", "hcsbn", false}});

const Letter* letter_at(std::string_view text) {
  const auto* hit = std::find_if(kLetters.begin(), kLetters.end(), [&](const Letter& letter) {
    return text.starts_with(letter.text);
  });
  return hit == kLetters.end() ? nullptr : hit;
}

std::string_view letter_of(int level) {
  return std::find_if(kLetters.begin(), kLetters.end(),
                      [&](const Letter& letter) { return letter.level == level; })
      ->text;
}

Result<std::vector<int>> parse_levels(std::string_view text) {
  std::vector<int> levels;
  while (!text.empty()) {
    const Letter* letter = letter_at(text);
    if (letter == nullptr) {
      return Error(
          fmt::format("'{}' is not a level; use n b s c h L1 L2 L3 N", shorten(text.substr(0, 2))));
    }
    if (std::find(levels.begin(), levels.end(), letter->level) != levels.end())
      return Error(fmt::format("level '{}' appears twice", letter->text));
    levels.push_back(letter->level);
    text.remove_prefix(letter->text.size());
  }
  return levels;
}

Result<LamaWidth> parse_width(std::string_view count, std::string_view level) {
  const auto number = parse_unsigned(count, 999);
  const Letter* letter = letter_at(level);
  if (!number || *number == 0 || letter == nullptr || letter->text != level)
    return Error(fmt::format("'{}{}' is not a number from 1 to 999 and a level, such as 1c or 1L3",
                             shorten(count), shorten(level)));
  return LamaWidth{static_cast<int>(*number), letter->level};
}

Status parse_bind(std::string_view value, LamaLayout& layout) {
  const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto width = parse_width(value.substr(0, digits), value.substr(digits));
  if (!width) return Error(width.error()).within("bind");
  layout.bind = *width;
  layout.has_bind = true;
  return {};
}

Status parse_mppr(std::string_view value, LamaLayout& layout) {
  for (const std::string_view piece : split(value, '+')) {
    const std::size_t colon = piece.find(':');
    if (colon == std::string_view::npos)
      return Error(fmt::format("mppr: '{}' is not of the form 2:c", shorten(piece)));
    const auto limit = parse_width(piece.substr(0, colon), piece.substr(colon + 1));
    if (!limit) return Error(limit.error()).within("mppr");
    layout.most_per_resource.push_back(*limit);
  }
  return {};
}

Status parse_visit(std::string_view value, LamaLayout& layout) {
  const std::size_t colon = std::min(value.find(':'), value.size());
  const Letter* letter = letter_at(value.substr(0, colon));
  if (letter == nullptr || letter->text != value.substr(0, colon) || colon == value.size())
    return Error(fmt::format("visit: '{}' is not of the form c:1+0", shorten(value)));
  LamaOrder order{letter->level, {}};
  for (const LamaOrder& other : layout.orders) {
    if (other.level == order.level)
      return Error(fmt::format("visit: level '{}' appears twice", letter->text));
  }
  for (const std::string_view piece : split(value.substr(colon + 1), '+')) {
    const auto number = parse_unsigned(piece, 9999);
    if (!number)
      return Error(fmt::format("visit: '{}' is not a number from 0 to 9999", shorten(piece)));
    const auto object = static_cast<int>(*number);
    if (std::find(order.first.begin(), order.first.end(), object) != order.first.end())
      return Error(fmt::format("visit: object {} appears twice", object));
    order.first.push_back(object);
  }
  layout.orders.push_back(std::move(order));
  return {};
}

Status parse_key(std::string_view piece, LamaLayout& layout) {
  if (piece.starts_with("bind=")) return parse_bind(piece.substr(5), layout);
  if (piece.starts_with("mppr=")) return parse_mppr(piece.substr(5), layout);
  if (piece.starts_with("visit=")) return parse_visit(piece.substr(6), layout);
  if (piece == "order=s" || piece == "order=n") {
    layout.sequential = piece == "order=s";
    return {};
  }
  if (piece == "oversubscribe") {
    layout.oversubscribe = true;
    return {};
  }
  return Error(
      fmt::format("'{}' is not known; use bind=, mppr=, visit=, order=s, order=n or "
                  "oversubscribe",
                  shorten(piece)));
}

}  // namespace

Status check_lama(std::string_view argument) {
  const auto layout = parse_lama(argument);
  if (!layout) return layout.error();
  return {};
}

Result<LamaLayout> parse_lama(std::string_view text) {
  const auto pieces = split(text, '/');
  std::string_view letters = pieces.front();
  if (letters.empty())
    return Error("a layout is missing; use lama:scbnh or a name such as lama:core");
  LamaLayout layout;
  for (const Alias& alias : kAliases) {
    if (alias.name != letters) continue;
    letters = alias.layout;
    layout.sequential = alias.sequential;
    break;
  }
  auto levels = parse_levels(letters);
  if (!levels) return std::move(levels).error();
  layout.levels = *std::move(levels);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (Status good = parse_key(pieces[i], layout); !good) return std::move(good).error();
  }
  for (const int needed : {0, 8, layout.bind.level}) {
    if (std::find(layout.levels.begin(), layout.levels.end(), needed) == layout.levels.end())
      return Error(
          fmt::format("the layout '{}' needs the level '{}'", shorten(letters), letter_of(needed)));
  }
  for (const LamaOrder& order : layout.orders) {
    if (std::find(layout.levels.begin(), layout.levels.end(), order.level) == layout.levels.end())
      return Error(fmt::format("visit: the layout '{}' does not have the level '{}'",
                               shorten(letters), letter_of(order.level)));
  }
  return layout;
}

}  // namespace ondeloc
