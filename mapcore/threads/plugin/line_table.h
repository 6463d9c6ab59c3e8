// SPDX-License-Identifier: MIT
// The last writer and the readers of each line of 64 bytes, in bounded memory. A read of a line
// that another thread wrote is a communication, once for each reader after each write. Only written
// lines have an entry. If the four places of a line's bucket are taken, the table forgets one of
// them, and says so. More than 64 threads share the bits of the readers: a read counts as known if
// a thread with the same number modulo 64 has read the line.
//
// Ownership: owns its memory, zero pages until they are used. Thread safety: any thread. The common
// case, a repeated access of the same thread, takes no lock.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ondeloc_threads {

class LineTable {
 public:
  // At least 64 KiB; rounded down to a power of two.
  explicit LineTable(std::uint64_t bytes);
  LineTable(const LineTable&) = delete;
  LineTable& operator=(const LineTable&) = delete;
  ~LineTable();
  bool valid() const { return buckets_ != nullptr; }

  // The thread whose write `reader` sees for the first time.
  std::optional<unsigned> read(std::uint64_t line, unsigned reader);
  // True if the table forgot another line for this one.
  bool write(std::uint64_t line, unsigned writer);

 private:
  using Word = std::atomic<std::uint64_t>;
  struct Entry {
    Word owner;    // line + 1 and the writer; 0: empty
    Word readers;  // since the last write, the writer not included
  };
  static constexpr std::size_t kPlaces = 4;
  struct Bucket {
    Entry entries[kPlaces];
  };
  class Lock;

  Bucket& bucket_of(std::uint64_t line);
  static Entry* find(Bucket& bucket, std::uint64_t line);

  Bucket* buckets_ = nullptr;
  std::size_t count_ = 0;  // a power of two
  static constexpr std::size_t kLocks = 4096;
  std::atomic<bool> locks_[kLocks] = {};
  std::atomic<std::size_t> next_victim_{0};
};

}  // namespace ondeloc_threads
