// SPDX-License-Identifier: MIT
// A last-level cache that all threads share: sets of 16 lines, a new line replaces a random one. It
// tells which accesses would go to memory. Ownership: owns its memory. Thread safety: any thread;
// two threads that miss at once may lose one of the two lines, which is in the spirit of a model.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ondeloc_threads {

class CacheModel {
 public:
  // At least 64 KiB; rounded down to a power of two.
  explicit CacheModel(std::uint64_t bytes)
      : sets_(std::bit_floor((bytes < kLeast ? kLeast : bytes) / (kLineBytes * kWays))),
        tags_(new std::atomic<std::uint32_t>[sets_ * kWays]()) {}

  // True if the line is not in the cache; it is from now on. `random` chooses what it replaces.
  bool misses(std::uint64_t line, std::uint32_t random) {
    std::atomic<std::uint32_t>* set = &tags_[(line % sets_) * kWays];
    const auto tag = static_cast<std::uint32_t>(line / sets_ + 1);
    std::size_t place = random % kWays;
    for (std::size_t way = 0; way < kWays; ++way) {
      const std::uint32_t held = set[way].load(std::memory_order_relaxed);
      if (held == tag) return false;
      if (held == 0) place = way;
    }
    set[place].store(tag, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::size_t kWays = 16;
  static constexpr std::uint64_t kLeast = 1U << 16, kLineBytes = 64;
  std::size_t sets_;  // a power of two
  std::unique_ptr<std::atomic<std::uint32_t>[]> tags_;
};

}  // namespace ondeloc_threads
