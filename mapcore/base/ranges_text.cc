// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/ranges_text.h"

#include <fmt/format.h>

namespace ondeloc {

std::string ranges_text(std::span<const int> ascending) {
  std::string text;
  for (std::size_t low = 0, high = 0; low < ascending.size(); low = ++high) {
    while (high + 1 < ascending.size() && ascending[high + 1] == ascending[high] + 1) ++high;
    if (!text.empty()) text += ',';
    text += high == low ? fmt::format("{}", ascending[low])
                        : fmt::format("{}-{}", ascending[low], ascending[high]);
  }
  return text;
}

}  // namespace ondeloc
