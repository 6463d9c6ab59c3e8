// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/algorithm_table.h"

#include <fmt/format.h>

#include "mapcore/base/text.h"
#include "mapcore/options/option_table.h"

namespace ondeloc {
Status check_no_argument(std::string_view argument) {
  if (argument.empty()) return {};
  return Error(
      fmt::format("the algorithm takes no argument, but '{}' follows its name", shorten(argument)));
}

Status check_seed(std::string_view argument) {
  if (argument.empty() || parse_unsigned(argument)) return {};
  return Error(
      fmt::format("'{}' is not a seed; use a whole number such as random:7", shorten(argument)));
}

Status check_ondeloc(std::string_view argument) {
  for (const std::string_view known : {"", "together", "literal", "fresh"})
    if (argument == known) return {};
  return Error(fmt::format(
      "'{}' is not known; use ondeloc, ondeloc:together, ondeloc:literal or ondeloc:fresh",
      shorten(argument)));
}

Status check_deloc(std::string_view argument) {
  if (argument.empty() || argument == "join") return {};
  return Error(fmt::format("'{}' is not known; use deloc or deloc:join", shorten(argument)));
}

Status check_effort(std::string_view argument) {
  if (argument.empty() || parse_unsigned(argument, kMostEffort).value_or(0) > 0) return {};
  return Error(fmt::format("'{}' is not an effort; use a whole number from 1 to {}",
                           shorten(argument), kMostEffort));
}

std::string offline_algorithm(const std::string& named, int ranks) {
  if (!named.empty()) return named;
  return ranks <= kMostOfflineRanks ? kOfflineAlgorithm : "coordinated";
}

AlgorithmSpec split_algorithm(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  if (colon == std::string_view::npos) return {spec, {}};
  return {spec.substr(0, colon), spec.substr(colon + 1)};
}

Result<const AlgorithmRow*> find_algorithm_row(std::string_view spec) {
  const auto [name, argument] = split_algorithm(spec);
  for (const AlgorithmRow& row : kAlgorithmRows) {
    if (row.name != name) continue;
    if (Status good = row.check(argument); !good)
      return std::move(good).error().within(fmt::format("algorithm '{}'", name));
    return &row;
  }
  return unknown_word("algorithm", name, kAlgorithmRows);
}

}  // namespace ondeloc
