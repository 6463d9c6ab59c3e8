// SPDX-License-Identifier: MIT
#include "mapcore/threads/plugin/follower.h"

#include <algorithm>

namespace ondeloc_threads {

// A part of the lines needs a part of the cache to hit and miss as all lines would.
Follower::Follower(const FollowerSettings& settings, SharedCounts& counts)
    : counts_(counts),
      table_(settings.table_bytes),
      cache_(settings.llc_bytes / std::max(1U, settings.sample)),
      sample_(std::max(1U, settings.sample)),
      recent_(new Recent[kMostThreads]) {}

// The choice looks random and is the same for all threads: each communication needs both its ends.
bool Follower::is_followed(std::uint64_t line) const {
  return sample_ == 1 || ((line * 0x9E3779B97F4A7C15) >> 32) % sample_ == 0;
}

void Follower::access(unsigned thread, std::uint64_t address, unsigned bytes, Access kind) {
  add(counts_.thread[thread].accessed, bytes);
  const std::uint64_t first = address / kLineBytes, last = (address + bytes - 1) / kLineBytes;
  for (std::uint64_t line = first; line <= last; ++line)
    if (is_followed(line)) touch(thread, line, kind);
}

void Follower::touch(unsigned thread, std::uint64_t line, Access kind) {
  touch_cache(thread, line);
  if (kind != Access::kWrite) {
    if (const auto writer = table_.read(line, thread))
      add(counts_.thread[thread].lines_from[*writer], 1);
  }
  if (kind != Access::kRead && table_.write(line, thread))
    counts_.forgotten.fetch_add(1, std::memory_order_relaxed);
}

void Follower::touch_cache(unsigned thread, std::uint64_t line) {
  Recent& recent = recent_[thread];
  std::uint64_t& last = recent.lines[line % Recent::kLines];
  if (last == line + 1) return;
  last = line + 1;
  recent.random = recent.random * 1664525 + 1013904223;
  if (cache_.misses(line, recent.random >> 16)) add(counts_.thread[thread].beyond_llc, 1);
}

}  // namespace ondeloc_threads
