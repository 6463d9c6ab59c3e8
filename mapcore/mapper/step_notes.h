// SPDX-License-Identifier: Apache-2.0
// The notes for a user about the binding of a step. Ranks that have the same to tell share one
// note, "ranks 0-3: TEXT": one of a hundred ranks each would hide all others. Thread safety: as
// std::map.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "mapcore/base/ids.h"
#include "mapcore/mapper/rank_list.h"

namespace ondeloc {

class StepNotes {
 public:
  void add(std::string text) { of_step_.insert(std::move(text)); }
  // `text` fits one rank and several.
  void add(WorldRank rank, const std::string& text) { of_ranks_[text].add(rank); }
  void remove(WorldRank rank, const std::string& text);
  std::set<std::string> texts() const;

 private:
  std::set<std::string> of_step_;
  std::map<std::string, RankList> of_ranks_;
};

}  // namespace ondeloc
