// SPDX-License-Identifier: Apache-2.0
// Notes on the ranks for the end of a report or a profile: which ranks were counted, which were
// not, and why. Thread safety: a pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapcore/step/ranks.h"

namespace ondeloc {

struct RankNote {
  std::string text;  // one sentence
  // True: a user would expect a count that is missing. False: a detail, or a program without MPI,
  // of which no user expects counts.
  bool uncounted;
};

std::vector<RankNote> notes_of_ranks(const Ranks& ranks);
// For a report: ranks whose last counts should have come by events. Empty if there is none.
std::optional<std::string> note_of_lost_counts(const Ranks& ranks);

}  // namespace ondeloc
