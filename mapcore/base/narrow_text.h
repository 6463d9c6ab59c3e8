// SPDX-License-Identifier: Apache-2.0
// Wraps help texts for a terminal of 80 columns. Errors: none. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// Wraps lines of more than 80 characters between words. Continuation lines begin below the text: at
// column 30 if the line is that of an option (it begins with two blanks, or with fewer than 30
// blanks and "--"). Several empty lines become one.
std::string narrow_text(std::string_view text);

}  // namespace ondeloc
