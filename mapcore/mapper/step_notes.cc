// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/step_notes.h"

namespace ondeloc {

void StepNotes::remove(WorldRank rank, const std::string& text) {
  const auto found = of_ranks_.find(text);
  if (found == of_ranks_.end()) return;
  found->second.remove(rank);
  if (found->second.empty()) of_ranks_.erase(found);
}

std::set<std::string> StepNotes::texts() const {
  std::set<std::string> all = of_step_;
  for (const auto& [text, ranks] : of_ranks_) all.insert(ranks.to_words() + ": " + text);
  return all;
}

}  // namespace ondeloc
