// SPDX-License-Identifier: MIT
// One last-level cache: which lines it holds and which hardware threads of its cores have them. It
// holds every line that its cores hold.
#pragma once
#include <cstdint>
#include <vector>

#include "tests/lab/plugin/machine.h"

namespace numalab {

struct SharedLine {
  std::uint64_t line = 0;        // 0: empty
  std::uint64_t written_ps = 0;  // when a core last wrote it
  std::uint64_t sharers = 0;     // hardware threads of this cache that may hold it
  int owner = -1;                // the one whose core may have changed it
  bool elsewhere = false;        // other last-level caches may hold it
  bool dirty = false;
  std::uint32_t used = 0;
};

class SharedCache {
 public:
  explicit SharedCache(const CacheSize& size)
      : ways_(size.ways), sets_(size.sets()), lines_(sets_ * ways_) {}
  // Lines are spread over the sets by a hash without pattern (the finaliser of SplitMix64: Steele,
  // Lea, Flood, OOPSLA 2014), as last-level caches hash addresses over their slices. With plain
  // bits of the address, or a hash that keeps neighbours apart, the conflicts of a program would
  // depend on the pages that the kernel happens to give.
  std::uint64_t set_of(std::uint64_t line) const {
    line = (line ^ line >> 30) * 0xBF58476D1CE4E5B9ULL;
    line = (line ^ line >> 27) * 0x94D049BB133111EBULL;
    return (line ^ line >> 31) & (sets_ - 1);
  }
  SharedLine* find(std::uint64_t line) {
    SharedLine* set = first(line);
    for (std::size_t way = 0; way < ways_; ++way) {
      if (set[way].line == line) return &set[way];
    }
    return nullptr;
  }
  // An empty place, else the one that was used longest ago.
  SharedLine& victim(std::uint64_t line) {
    SharedLine* set = first(line);
    SharedLine* oldest = set;
    for (std::size_t way = 0; way < ways_; ++way) {
      if (set[way].line == 0) return set[way];
      if (static_cast<std::int32_t>(set[way].used - oldest->used) < 0) oldest = &set[way];
    }
    return *oldest;
  }

 private:
  SharedLine* first(std::uint64_t line) { return &lines_[set_of(line) * ways_]; }
  std::size_t ways_;
  std::uint64_t sets_;  // a power of 2
  std::vector<SharedLine> lines_;
};

}  // namespace numalab
