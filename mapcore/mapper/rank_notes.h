// SPDX-License-Identifier: Apache-2.0
// What a user needs to know of the ranks at the end, for a report and a profile alike: who was
// counted, who was not and why.
// Thread safety: a pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapcore/mapper/ranks.h"

namespace ondeloc {

struct RankNote {
  std::string text;  // one sentence
  // True: something that a user takes for counted is not. False: for who looks closer, and for
  // programs without MPI, of which nobody expects counts.
  bool uncounted;
};

std::vector<RankNote> notes_of_ranks(const Ranks& ranks);
// For a report, where the counts of such ranks come by events. Empty where there are none.
std::optional<std::string> note_of_lost_counts(const Ranks& ranks);

}  // namespace ondeloc
