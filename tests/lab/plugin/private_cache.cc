// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/private_cache.h"

#include <thread>

namespace numalab {

PrivateCache::PrivateCache(const CacheSize& size, const PrivateCache* sibling)
    : ways_(size.ways),
      set_mask_(size.sets() - 1),
      shift_(sibling == nullptr ? 0 : kBits),
      writable_(std::uint64_t{kWritable} << shift_),
      matched_(~(writable_ | std::uint64_t{kAbsent} << (kBits - shift_))),
      tags_(sibling == nullptr
                ? decltype(tags_)(new std::atomic<std::uint64_t>[size.sets() * size.ways]())
                : sibling->tags_),
      seen_(new Polling[size.sets() * size.ways]()),
      recent_(new std::uint8_t[size.sets()]()) {}

std::size_t PrivateCache::way_of(std::uint64_t line, std::uint64_t without) const {
  const std::size_t first = (line & set_mask_) * ways_;
  for (std::size_t way = first; way < first + ways_; ++way) {
    const std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
    if (tag >> kTag == line) return (state_of(tag) & without) == 0 ? way : kNone;
  }
  return kNone;
}

// False if the other thread has replaced the line meanwhile. All else that happens to a line is
// under its lock.
bool PrivateCache::change(std::size_t way, std::uint64_t line, std::uint64_t state) {
  std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
  return tag >> kTag == line && tags_[way].compare_exchange_strong(tag, with_state(tag, state));
}

// An empty way, else one whose line was taken, else any but the one used last.
std::size_t PrivateCache::victim(std::uint64_t line) const {
  const std::uint64_t set = line & set_mask_;
  const std::size_t first = set * ways_;
  std::size_t taken = kNone;
  for (std::size_t way = first; way < first + ways_; ++way) {
    const std::uint64_t tag = tags_[way].load(std::memory_order_relaxed);
    if (tag == 0) return way;
    if ((tag & kTakenFromAll) == kTakenFromAll) taken = way;
  }
  if (taken != kNone) return taken;
  return first + (recent_[set] + 1 + (line >> 7) % (ways_ - 1)) % ways_;
}

void PrivateCache::put(std::uint64_t line, bool writable, std::uint64_t now_ps) {
  const std::uint64_t state = writable ? std::uint64_t{kWritable} : 0;
  std::size_t way = way_of(line);
  if (way == kNone || !change(way, line, state)) {
    way = victim(line);
    tags_[way].store(with_state(line << kTag | kAbsentFromAll, state), std::memory_order_relaxed);
  }
  seen_[way] = {now_ps, 0, 0, 0};
  recent_[line & set_mask_] = static_cast<std::uint8_t>(way - (line & set_mask_) * ways_);
  lags_ = {};
}

bool PrivateCache::drop(std::uint64_t line) {
  const std::size_t way = way_of(line, kTaken);
  if (way == kNone) return false;
  change(way, line, kTaken);
  return seen_[way].is_likely();
}

bool PrivateCache::await_taken(std::uint64_t line, std::chrono::microseconds patience) {
  constexpr int kYields = 200;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int tried = 0;; ++tried) {
    const std::size_t way = way_of(line);
    if (way == kNone || !matches(way, line)) return true;
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
  if (tag >> kTag != line) return;
  const std::uint64_t left = with_state(tag, kAbsent);
  const bool held = (left & kTakenFromAll) != kTakenFromAll;  // by the other thread
  tags_[way].compare_exchange_strong(tag, held ? left : 0);
}

void PrivateCache::keep_read_only(std::uint64_t line) {
  const std::size_t way = way_of(line, kTaken);
  if (way != kNone) change(way, line, 0);
}

bool PrivateCache::may_write(std::uint64_t line) const {
  const std::size_t way = way_of(line, kTaken);
  return way != kNone && (tags_[way].load(std::memory_order_relaxed) & writable_) != 0;
}

Polling PrivateCache::polling(std::uint64_t line) const {
  const std::size_t way = way_of(line);
  if (way == kNone || state_of(tags_[way].load(std::memory_order_relaxed)) != kTaken) return {};
  Polling seen = seen_[way];
  for (const Lag& lag : lags_) {
    if (seen_[way].last_ps + lag.ps <= lag.end_ps) seen.last_ps += lag.ps;
  }
  return seen;
}

}  // namespace numalab
