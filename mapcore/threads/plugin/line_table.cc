// SPDX-License-Identifier: MIT
#include "mapcore/threads/plugin/line_table.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace ondeloc_threads {
namespace {

constexpr unsigned kWriterBits = 16;
constexpr std::uint64_t kWriterMask = (1U << kWriterBits) - 1;
constexpr auto kRelaxed = std::memory_order_relaxed;

std::uint64_t owner_word(std::uint64_t line, unsigned writer) {
  return (line + 1) << kWriterBits | writer;
}
bool is_of(std::uint64_t owner, std::uint64_t line) { return owner >> kWriterBits == line + 1; }
unsigned writer_of(std::uint64_t owner) { return static_cast<unsigned>(owner & kWriterMask); }
std::uint64_t bit_of(unsigned reader) { return std::uint64_t{1} << reader % 64; }

}  // namespace

class LineTable::Lock {
 public:
  Lock(LineTable& table, const Bucket& bucket)
      : flag_(table.locks_[static_cast<std::size_t>(&bucket - table.buckets_) % kLocks]) {
    for (int tries = 0; flag_.exchange(true, std::memory_order_acquire); ++tries) {
      if (tries > 100) sched_yield();  // the owner may wait for this CPU
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& flag_;
};

LineTable::LineTable(std::uint64_t bytes)
    : count_(std::bit_floor(std::max<std::uint64_t>(bytes, 1U << 16) / sizeof(Bucket))) {
  void* memory = ::mmap(nullptr, count_ * sizeof(Bucket), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) buckets_ = static_cast<Bucket*>(memory);
}

LineTable::~LineTable() {
  if (valid()) ::munmap(buckets_, count_ * sizeof(Bucket));
}

// Stacks and allocations lie a power of two apart; the upper bits spread them. Neighbours stay
// neighbours, so that a sparse program uses few pages of the table.
LineTable::Bucket& LineTable::bucket_of(std::uint64_t line) {
  const std::uint64_t page = line >> 6;
  const std::uint64_t spread = (page * 0x9E3779B97F4A7C15) >> 40;
  return buckets_[(line ^ spread << 6) & (count_ - 1)];
}

LineTable::Entry* LineTable::find(Bucket& bucket, std::uint64_t line) {
  for (Entry& entry : bucket.entries)
    if (is_of(entry.owner.load(std::memory_order_acquire), line)) return &entry;
  return nullptr;
}

std::optional<unsigned> LineTable::read(std::uint64_t line, unsigned reader) {
  Bucket& bucket = bucket_of(line);
  const Entry* seen = find(bucket, line);
  if (seen == nullptr || writer_of(seen->owner.load(kRelaxed)) == reader ||
      (seen->readers.load(kRelaxed) & bit_of(reader)) != 0)
    return std::nullopt;
  const Lock lock(*this, bucket);
  Entry* entry = find(bucket, line);
  if (entry == nullptr) return std::nullopt;
  const unsigned writer = writer_of(entry->owner.load(kRelaxed));
  const std::uint64_t readers = entry->readers.load(kRelaxed);
  if (writer == reader || (readers & bit_of(reader)) != 0) return std::nullopt;
  entry->readers.store(readers | bit_of(reader), kRelaxed);
  return writer;
}

bool LineTable::write(std::uint64_t line, unsigned writer) {
  Bucket& bucket = bucket_of(line);
  const std::uint64_t owner = owner_word(line, writer);
  const Entry* seen = find(bucket, line);
  if (seen != nullptr && seen->owner.load(kRelaxed) == owner && seen->readers.load(kRelaxed) == 0)
    return false;
  const Lock lock(*this, bucket);
  Entry* entry = find(bucket, line);
  bool forgot = false;
  if (entry == nullptr) {
    entry = std::find_if(std::begin(bucket.entries), std::end(bucket.entries),
                         [](const Entry& place) { return place.owner.load(kRelaxed) == 0; });
    forgot = entry == std::end(bucket.entries);
    if (forgot) entry = &bucket.entries[next_victim_.fetch_add(1, kRelaxed) % kPlaces];
  }
  // A reader without the lock never sees the old readers with the new owner.
  entry->readers.store(0, kRelaxed);
  entry->owner.store(owner, std::memory_order_release);
  return forgot;
}

}  // namespace ondeloc_threads
