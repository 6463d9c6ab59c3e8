// SPDX-License-Identifier: Apache-2.0
// The world ranks that a note names. Unlike CPUs they have no small bound, so a CpuSet cannot hold
// them. Thread safety: as std::set.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/base/ranges_text.h"

namespace ondeloc {

class RankList {
 public:
  void add(WorldRank rank) { ranks_.insert(rank.value); }
  void remove(WorldRank rank) { ranks_.erase(rank.value); }
  bool empty() const { return ranks_.empty(); }
  std::size_t count() const { return ranks_.size(); }
  std::string to_list() const {  // "0-3,8"
    return ranges_text(std::vector<int>(ranks_.begin(), ranks_.end()));
  }
  std::string to_words() const {  // "rank 3", "ranks 0-2,7"
    return (count() == 1 ? "rank " : "ranks ") + to_list();
  }

 private:
  std::set<int> ranks_;
};

}  // namespace ondeloc
