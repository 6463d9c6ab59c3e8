// SPDX-License-Identifier: Apache-2.0
// Sentences for the person at the terminal. Thread safety: for one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ondeloc::cli {

// Writes "ondeloc: SENTENCE" to standard error, once; on a terminal in lines that fit it.
void say(std::string_view sentence);

// `text` with line ends at blanks, so that lines have at most `width` characters; a word that is
// longer stays whole. Lines after the first begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

// Columns of the terminal behind a descriptor, 80 if it does not tell; 0: it is not a terminal.
std::size_t terminal_width(int fd);

}  // namespace ondeloc::cli
