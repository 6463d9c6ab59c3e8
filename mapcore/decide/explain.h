// SPDX-License-Identifier: Apache-2.0
// One interval of a run, explained: its numbers and the rules of its decision. `ondeloc explain`
// and the page of a run print the same. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "mapcore/decide/verdict.h"

namespace ondeloc {

std::string meaning_of(DecisionKind kind);
// Several lines. REQUIRES: the run has this step.
std::string interval_text(const Run& run, std::size_t index);

}  // namespace ondeloc
