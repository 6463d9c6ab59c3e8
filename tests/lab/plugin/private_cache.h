// SPDX-License-Identifier: MIT
// The cache of one core as one of its hardware threads sees it. The threads of a core share its
// ways, but a line that one of them has to see anew is here only for the other one. Its own vCPU
// looks without a lock, others take lines away at any time: each way is one atomic word.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "tests/lab/plugin/machine.h"

namespace numalab {

// A value that an access read or wrote. The key tells its place in the line and its size; 0: not
// known.
struct Word {
  std::uint64_t value = 0;
  std::uint32_t key = 0;
};

// Tells whether a core was polling a line when another core took the line from it.
struct Polling {
  std::uint64_t last_ps = 0;  // last load that still found the line
  std::uint32_t loads = 0;    // that found it since this core last wrote it or fetched it
  std::uint32_t key = 0;      // of the last access
  std::uint64_t value = 0;
  bool is_likely() const { return loads >= 3; }
};

class PrivateCache {
 public:
  explicit PrivateCache(const CacheSize& size, const PrivateCache* sibling = nullptr);

  // kHere: the line is here, and may be written if the access is a store. kOvertaken: it is here,
  // but the load read what another core wrote. QEMU tells of an access after it happened, so the
  // reader can be told of its load before the writer is told of its store.
  enum class Found { kNot, kHere, kOvertaken };
  Found find(std::uint64_t line, bool store, std::uint64_t now_ps, Word word = {}) {
    const std::uint64_t set = line & set_mask_;
    const std::size_t first = set * ways_;
    const std::size_t recent = first + recent_[set];
    if (matches(recent, line)) return touch(recent, store, now_ps, word);
    for (std::size_t way = first; way < first + ways_; ++way) {
      if (!matches(way, line)) continue;
      recent_[set] = static_cast<std::uint8_t>(way - first);
      return touch(way, store, now_ps, word);
    }
    return Found::kNot;
  }
  bool hit(std::uint64_t line, bool store, std::uint64_t now_ps) {
    return find(line, store, now_ps) == Found::kHere;
  }
  // After a store for which the line had to be fetched. After a load this is not known: its value
  // can be older than the line.
  void wrote(std::uint64_t line, Word word) {
    const std::size_t way = way_of(line);
    if (way != kNone) seen_[way].key = word.key, seen_[way].value = word.value;
  }
  // After kOvertaken: waits until the writer has taken the line; false if it did not in time.
  bool await_taken(std::uint64_t line, std::chrono::microseconds patience);
  void put(std::uint64_t line, bool writable, std::uint64_t now_ps);
  bool drop(std::uint64_t line);    // another core writes the line; true if this core polled it
  void forget(std::uint64_t line);  // the last-level cache gives it up
  void keep_read_only(std::uint64_t line);  // another core reads the line
  Polling polling(std::uint64_t line) const;
  bool holds(std::uint64_t line) const { return way_of(line, kTaken) != kNone; }
  bool may_write(std::uint64_t line) const;
  // The clock went on by `ps` to `now_ps` at once, for the instructions of a while before: a thread
  // that polled did so in that time too. Two such times can lie between two polls.
  void caught_up(std::uint64_t now_ps, std::uint64_t ps) { lags_ = {Lag{now_ps, ps}, lags_[0]}; }

 private:
  // Two bits for each of two threads. kAbsent: it has not had the line, or the last-level cache
  // gave it up.
  enum : std::uint64_t { kWritable = 1, kTaken = 2, kAbsent = 3 };
  static constexpr unsigned kBits = 2, kTag = 2 * kBits;
  static constexpr std::uint64_t kTakenFromAll = kTaken | kTaken << kBits;
  static constexpr std::uint64_t kAbsentFromAll = kAbsent | kAbsent << kBits;
  struct Lag {
    std::uint64_t end_ps = 0, ps = 0;
  };
  bool matches(std::size_t way, std::uint64_t line) const {
    return (tags_[way].load(std::memory_order_relaxed) & matched_) == line << kTag;
  }
  std::uint64_t state_of(std::uint64_t tag) const { return tag >> shift_ & kAbsent; }
  std::uint64_t with_state(std::uint64_t tag, std::uint64_t state) const {
    return (tag & ~(std::uint64_t{kAbsent} << shift_)) | state << shift_;
  }
  Found touch(std::size_t way, bool store, std::uint64_t now_ps, Word word) {
    Polling& seen = seen_[way];
    if (store) {
      seen = {now_ps, 0, word.key, word.value};
      const bool own = (tags_[way].load(std::memory_order_relaxed) & writable_) != 0;
      return own ? Found::kHere : Found::kNot;
    }
    if (word.key != 0 && seen.key == word.key && seen.value != word.value) {
      return Found::kOvertaken;
    }
    seen.last_ps = now_ps;
    ++seen.loads;
    seen.key = word.key;
    seen.value = word.value;
    return Found::kHere;
  }
  // kNone if the line is in no way, or if this thread's state there has a bit of `without`.
  std::size_t way_of(std::uint64_t line, std::uint64_t without = 0) const;
  std::size_t victim(std::uint64_t line) const;
  bool change(std::size_t way, std::uint64_t line, std::uint64_t state);
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t ways_;
  std::uint64_t set_mask_;
  unsigned shift_;  // of this thread's bits
  std::uint64_t writable_, matched_;
  std::array<Lag, 2> lags_{};
  // line << kTag | bits, 0: empty. Shared with the other thread.
  std::shared_ptr<std::atomic<std::uint64_t>[]> tags_;
  std::unique_ptr<Polling[]> seen_;
  std::unique_ptr<std::uint8_t[]> recent_;  // way of each set
};

}  // namespace numalab
