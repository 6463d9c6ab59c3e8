// SPDX-License-Identifier: MIT
// Follows the accesses of all threads of one program: counts communications and memory volumes.
// Ownership: the counts belong to the caller. Thread safety: each thread calls with its own number;
// different threads may call at once.
#pragma once
#include <cstdint>
#include <memory>

#include "mapcore/threads/plugin/cache_model.h"
#include "mapcore/threads/plugin/line_table.h"
#include "mapcore/threads/plugin/shared_counts.h"

namespace ondeloc_threads {

struct FollowerSettings {
  std::uint64_t table_bytes = 256U << 20;
  std::uint64_t llc_bytes = 32U << 20;
  std::uint32_t sample = 1;  // one of so many lines is followed
};

enum class Access { kRead, kWrite, kExchange };  // kExchange: an atomic read and write

class Follower {
 public:
  Follower(const FollowerSettings& settings, SharedCounts& counts);
  bool valid() const { return table_.valid(); }
  // REQUIRES: thread < kMostThreads.
  void access(unsigned thread, std::uint64_t address, unsigned bytes, Access kind);

 private:
  // The last lines that a thread touched: they are in the modelled cache.
  struct Recent {
    static constexpr std::size_t kLines = 256;
    std::uint64_t lines[kLines] = {};  // line + 1
    std::uint32_t random = 1;
  };
  bool is_followed(std::uint64_t line) const;
  void touch(unsigned thread, std::uint64_t line, Access kind);
  void touch_cache(unsigned thread, std::uint64_t line);

  SharedCounts& counts_;
  LineTable table_;
  CacheModel cache_;
  std::uint32_t sample_;
  std::unique_ptr<Recent[]> recent_;
};

}  // namespace ondeloc_threads
