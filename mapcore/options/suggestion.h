// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that a mistyped word is most like. Errors: none. Thread safety:
// pure functions.
#pragma once

#include <string_view>
#include <vector>

namespace ondeloc {

// Changes of one character, or swaps of two neighbours, that turn `a` into `b` (the restricted
// distance of Damerau and Levenshtein). Looks at the first 64 characters of each.
std::size_t typing_distance(std::string_view a, std::string_view b);

// The known word that differs from `word` in the fewest characters, at most a third of its own;
// a known word of which `word` is the beginning comes first. Empty if no word is that close.
std::string_view closest_word(std::string_view word, const std::vector<std::string_view>& known);

// The names of the rows of a table.
template <class Rows>
std::vector<std::string_view> words_of(const Rows& rows) {
  std::vector<std::string_view> words;
  for (const auto& row : rows) words.push_back(row.name);
  return words;
}

}  // namespace ondeloc
