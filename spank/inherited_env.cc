// SPDX-License-Identifier: Apache-2.0
#include "spank/inherited_env.h"

#include <algorithm>

#include "mapcore/segment/rank_env.h"

namespace ondeloc {
namespace {

// `list` without the entries for which `is_ours` is true. Each other entry keeps the separator in
// front of it.
template <class IsOurs>
std::string without(std::string_view list, std::string_view separators, IsOurs is_ours) {
  std::string rest;
  bool is_first = true;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, at), list.size());
    const std::string_view entry = list.substr(at, end - at);
    if (!is_ours(entry)) {
      if (!is_first) rest += list[at - 1];
      rest += entry;
      is_first = false;
    }
    at = end + 1;
  }
  return rest;
}

}  // namespace

bool says_set(std::string_view step_words, std::string_view name) {
  const std::size_t at = step_words.find(kSetWord);
  if (at == step_words.npos) return false;
  std::string_view names = step_words.substr(at + kSetWord.size());
  names = names.substr(0, names.find(' '));
  return without(names, ",", [&](std::string_view entry) { return entry == name; }) != names;
}

std::string without_rank_library(std::string_view preload) {
  return without(preload, ": ", [](std::string_view path) {
    return path.substr(path.rfind('/') + 1) == ONDELOC_RANK_LIBRARY_NAME;
  });
}

std::string without_option(std::string_view options, std::string_view option) {
  return without(options, ":, ", [&](std::string_view entry) { return entry == option; });
}

}  // namespace ondeloc
