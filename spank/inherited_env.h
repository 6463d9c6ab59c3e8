// SPDX-License-Identifier: Apache-2.0
// A job or step that is submitted from inside a step inherits what ondeloc has set there. These
// functions find that in the values of variables. The text is the user's; the caller bounds it.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// In ONDELOC_STEP the names of what ondeloc has set besides it follow this word, separated by
// commas.
inline constexpr std::string_view kSetWord = " set=";

// True if a value of ONDELOC_STEP says that ondeloc has set `name`.
bool says_set(std::string_view step_words, std::string_view name);

// LD_PRELOAD without the rank library, whatever its folder: a site may have several releases.
std::string without_rank_library(std::string_view preload);

// ASAN_OPTIONS without the entry that equals `option`.
std::string without_option(std::string_view options, std::string_view option);

}  // namespace ondeloc
