// SPDX-License-Identifier: Apache-2.0
// What a job or step that was submitted from inside a step has inherited of what ondeloc set there.
// Text only, all of it the user's: bounded by what the caller reads.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// The word of ONDELOC_STEP behind which stands what ondeloc has set beside it, separated by commas.
inline constexpr std::string_view kSetWord = " set=";

// Whether a value of ONDELOC_STEP says that ondeloc has set `name`. Those of older releases do not.
bool says_set(std::string_view step_words, std::string_view name);

// LD_PRELOAD without our rank library, of any path: releases stand side by side.
std::string without_rank_library(std::string_view preload);

// ASAN_OPTIONS without `option`, where it stands as a whole.
std::string without_option(std::string_view options, std::string_view option);

}  // namespace ondeloc
