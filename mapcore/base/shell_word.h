// SPDX-License-Identifier: Apache-2.0
// Words of a command line. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// Returns the text as one word of a shell: in quotes if a shell would not take it as it is.
std::string shell_word(std::string_view text);

}  // namespace ondeloc
