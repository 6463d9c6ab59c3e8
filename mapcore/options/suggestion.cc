// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/suggestion.h"

#include <algorithm>
#include <array>

namespace ondeloc {
namespace {

constexpr std::size_t kLongestWord = 64;
using DistanceRow = std::array<std::size_t, kLongestWord + 1>;

}  // namespace

std::size_t typing_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kLongestWord);
  b = b.substr(0, kLongestWord);
  DistanceRow before_last{}, last{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view closest_word(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t least = std::string_view::npos;
  for (const std::string_view candidate : known) {
    const bool begins = word.size() > 2 && candidate.starts_with(word);
    const std::size_t distance = begins ? 0 : typing_distance(word, candidate);
    if (distance > std::max<std::size_t>(1, candidate.size() / 3) ||
        distance >= std::min(least, candidate.size()))
      continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace ondeloc
