// SPDX-License-Identifier: MIT
// The counts that the plugin and the recorder share: one mapping of a memory file. The plugin adds,
// the recorder reads as often as it likes, so a killed program loses nothing that it counted. Only
// the host thread of a thread writes the thread's counts. `name`, `function` and `tid` may be read
// while they are written; the recorder takes them after the end. The file is sparse: memory is used
// for threads that exist.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ondeloc_threads {

inline constexpr std::uint64_t kMagic = 0x3153544E55434854;  // "THCUNTS1"
inline constexpr std::uint64_t kRefused = 1;
inline constexpr std::uint32_t kMostThreads = 1024;
inline constexpr std::size_t kNameBytes = 16;  // of the kernel, with a zero
inline constexpr std::size_t kFunctionBytes = 64;
inline constexpr std::uint64_t kLineBytes = 64;

using Count = std::atomic<std::uint64_t>;
static_assert(Count::is_always_lock_free);

// Adds to a count that one thread alone writes.
inline void add(Count& count, std::uint64_t amount) {
  count.store(count.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

struct ThreadCounts {
  Count accessed;    // bytes read and written
  Count beyond_llc;  // lines that missed the modelled cache, of the lines that are followed
  std::atomic<std::int32_t> tid;
  char name[kNameBytes];  // empty: the thread has no name of its own
  char function[kFunctionBytes];
  Count lines_from[kMostThreads];  // lines that the thread read after another wrote them
};

struct SharedCounts {
  Count magic;  // kMagic as soon as the plugin follows the program, kRefused if it told why not
  std::atomic<std::uint32_t> threads;  // created so far, also those beyond kMostThreads
  Count ended;                         // 1: the program ended by itself
  Count forgotten;                     // written lines that left the table
  ThreadCounts thread[kMostThreads];
};

}  // namespace ondeloc_threads
