// SPDX-License-Identifier: Apache-2.0
// Makes text of unknown origin safe for terminals and log files. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// Returns `text` with '?' in place of every byte that is not part of valid UTF-8 and of every
// character that a terminal or a log viewer acts on instead of showing it: C0 and C1 controls
// (newline and tab too), bidirectional marks and other format characters, and line separators.
std::string printable(std::string_view text);

// Returns the largest length of at most `most` bytes at which `text` can be cut without splitting
// a UTF-8 character.
std::size_t cut_length(std::string_view text, std::size_t most);

}  // namespace ondeloc
