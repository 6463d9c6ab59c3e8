// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/allowed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/options/algorithm_table.h"
#include "mapcore/options/option_table.h"

namespace ondeloc {
namespace {

constexpr std::string_view kRanks = "ranks:";

template <class T>
bool holds(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

Status allow_ranks(Allowed& allowed, std::string_view number) {
  const auto most = parse_unsigned(number, UINT32_MAX);
  if (!most || *most == 0)
    return Error(fmt::format("'{}' is not a number of ranks; write ranks:4096", shorten(number)));
  allowed.most_ranks = static_cast<std::uint32_t>(*most);
  return {};
}

Status allow_word(Allowed& allowed, std::string_view word) {
  if (word.starts_with(kRanks)) return allow_ranks(allowed, word.substr(kRanks.size()));
  for (const ModeRow& row : mode_rows()) {
    if (row.name != word) continue;
    allowed.modes.push_back(row.mode);
    return {};
  }
  for (const AlgorithmRow& row : kAlgorithmRows) {
    if (row.name != word) continue;
    allowed.algorithms.emplace_back(word);
    return {};
  }
  return Error(fmt::format(
      "'{}' is not a mode or an algorithm; write such as online,static,coordinated,ranks:4096",
      shorten(word)));
}

std::vector<std::string> names_of_modes(const std::vector<Mode>& modes) {
  std::vector<std::string> names;
  for (const Mode mode : modes) names.emplace_back(mode_name(mode));
  return names;
}

Error refusal(std::string_view kind, std::string_view what, const std::vector<std::string>& use) {
  return Error(fmt::format("{} '{}' is not allowed here; use {} (allow= in plugstack.conf)", kind,
                           shorten(what), fmt::join(use, " or ")));
}

// The algorithm that the step runs; empty if it runs none.
std::string algorithm_of(const Options& options) {
  if (options.mode == Mode::kOnline) return options.algorithm;
  return options.mode == Mode::kStatic && is_layout(options.file) ? options.file : std::string();
}

}  // namespace

Status set_allowed(Allowed& allowed, std::string_view list) {
  std::vector<std::string_view> given;
  for (const std::string_view word : split(list, ',')) {
    if (Status good = allow_word(allowed, word); !good) return good;
    const std::string_view name = word.starts_with(kRanks) ? kRanks : word;
    if (holds(given, name)) return Error(fmt::format("'{}' is given twice", name));
    given.push_back(name);
  }
  return {};
}

std::string allowed_text(const Allowed& allowed) {
  std::vector<std::string> words = names_of_modes(allowed.modes);
  words.insert(words.end(), allowed.algorithms.begin(), allowed.algorithms.end());
  if (allowed.most_ranks > 0) words.push_back(fmt::format("{}{}", kRanks, allowed.most_ranks));
  return fmt::format("{}", fmt::join(words, ","));
}

Status check_allowed(const Options& options, std::uint32_t ranks, const Allowed& allowed) {
  if (options.mode == Mode::kOff || options.mode == Mode::kHelp) return {};
  if (!allowed.modes.empty() && !holds(allowed.modes, options.mode))
    return refusal("mode", mode_name(options.mode), names_of_modes(allowed.modes));
  const std::string spec = algorithm_of(options);
  const std::string algorithm = spec.substr(0, spec.find(':'));
  if (!algorithm.empty() && !allowed.algorithms.empty() && !holds(allowed.algorithms, algorithm))
    return refusal("algorithm", algorithm, allowed.algorithms);
  if (allowed.most_ranks > 0 && ranks > allowed.most_ranks)
    return Error(fmt::format(
        "off for a step of {} ranks: a step may have {} here (allow= in plugstack.conf)", ranks,
        allowed.most_ranks));
  return {};
}

}  // namespace ondeloc
