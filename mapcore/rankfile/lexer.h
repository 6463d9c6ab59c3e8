// SPDX-License-Identifier: Apache-2.0
// Words of a rankfile with their lines, comments removed. Internal to rankfile/.
#pragma once

#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc::rankfile {

struct Word {
  std::string_view text;  // "=" is a word of its own
  int line;
};

// Errors: a comment that does not end, a quote (hosts are not quoted), a byte that is not printable
// ASCII.
Result<std::vector<Word>> split_words(std::string_view text);

}  // namespace ondeloc::rankfile
