// SPDX-License-Identifier: Apache-2.0
// Texts of help for a terminal of 80 columns. Errors: none. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// Lines of more than 80 characters go on below where their text began: at column 30 where a line
// begins with two blanks or fewer than 30 and "--", as those of options do. A word is never cut. Of
// empty lines in a row one stays.
std::string narrow_text(std::string_view text);

}  // namespace ondeloc
