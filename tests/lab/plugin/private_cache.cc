// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/private_cache.h"

#include <thread>

namespace numalab {

PrivateCache::PrivateCache(const CacheSize& size)
    : ways_(size.ways),
      set_mask_(size.sets() - 1),
      tags_(new std::atomic<std::uint64_t>[size.sets() * size.ways]()),
      seen_(new Polling[size.sets() * size.ways]()),
      recent_(new std::uint8_t[size.sets()]()) {}

std::size_t PrivateCache::way_of(std::uint64_t line) const {
  const std::size_t first = (line & set_mask_) * ways_;
  for (std::size_t way = first; way < first + ways_; ++way) {
    if (tags_[way].load(std::memory_order_relaxed) >> 2 == line) return way;
  }
  return kNone;
}

// An empty way, else one whose line was taken, else any but the one used last.
std::size_t PrivateCache::victim(std::uint64_t line) const {
  const std::uint64_t set = line & set_mask_;
  const std::size_t first = set * ways_;
  std::size_t taken = kNone;
  for (std::size_t way = first; way < first + ways_; ++way) {
    const std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
    if (tag == 0) return way;
    if ((tag & kTaken) != 0) taken = way;
  }
  if (taken != kNone) return taken;
  return first + (recent_[set] + 1 + (line >> 7) % (ways_ - 1)) % ways_;
}

void PrivateCache::put(std::uint64_t line, bool writable, std::uint64_t now_ps) {
  std::size_t way = way_of(line);
  if (way == kNone) way = victim(line);
  tags_[way].store(line << 2 | (std::uint64_t{writable}), std::memory_order_relaxed);
  seen_[way] = {now_ps, 0, 0, 0};
  recent_[line & set_mask_] = static_cast<std::uint8_t>(way - (line & set_mask_) * ways_);
}

bool PrivateCache::drop(std::uint64_t line) {
  const std::size_t way = way_of(line);
  if (way == kNone) return false;
  std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
  if (tag >> 2 != line || (tag & kTaken) != 0) return false;
  tags_[way].compare_exchange_strong(tag, line << 2 | kTaken);
  return seen_[way].is_likely();
}

bool PrivateCache::await_taken(std::uint64_t line, Word word, std::chrono::microseconds patience) {
  constexpr int kYields = 200;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int tried = 0;; ++tried) {
    const std::size_t way = way_of(line);
    if (way == kNone || !matches(way, line)) return true;
    if (seen_[way].value == word.value) return true;  // the other thread of this core wrote it
    if (std::chrono::steady_clock::now() > end) break;
    if (tried < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  const std::size_t way = way_of(line);
  if (way != kNone) seen_[way].key = 0;
  return false;
}

void PrivateCache::forget(std::uint64_t line) {
  const std::size_t way = way_of(line);
  if (way == kNone) return;
  std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
  if (tag >> 2 == line) tags_[way].compare_exchange_strong(tag, 0);
}

void PrivateCache::keep_read_only(std::uint64_t line) {
  const std::size_t way = way_of(line);
  if (way == kNone) return;
  std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
  if (tag == (line << 2 | kWritable)) tags_[way].compare_exchange_strong(tag, line << 2);
}

Polling PrivateCache::polling(std::uint64_t line) const {
  const std::size_t way = way_of(line);
  if (way == kNone || (tags_[way].load(std::memory_order_relaxed) & kTaken) == 0) return {};
  return seen_[way];
}

}  // namespace numalab
