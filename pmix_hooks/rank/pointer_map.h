// SPDX-License-Identifier: Apache-2.0
// Pointer -> two words, without locks: open addressing with a bounded probe, keys inserted by
// compare-and-swap and never removed (MPI recycles its objects, so keys come back), full windows
// chained to a table four times as large. Memory comes from mmap and is never given back, so a
// reader needs no protection.
//
// Why a look-up may stop at the first empty key: slots only fill, and an insert takes the first
// empty slot of its window in the first table that has one; so a key that was there before an
// empty slot was seen stands in front of it.
//
// Thread safety: any thread. The caller defines the meaning of the two words and the order in which
// they are written. Errors: null if there is no memory.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ondeloc {

struct MapEntry {
  std::atomic<std::uintptr_t> key;
  std::atomic<std::uint64_t> first;
  std::atomic<std::uint64_t> second;
};

// Knuth's multiplicative hash, golden ratio.
inline std::uint64_t mixed(std::uintptr_t key) { return key * 0x9E3779B97F4A7C15ULL; }
// For any key.
inline std::uint64_t pointer_hash(std::uintptr_t key) { return mixed(key) >> 32; }
// For addresses of objects that take 64 bytes or more, and for handles, which are numbers of 32
// bits. The slots of objects on one page of memory stand side by side and share a few cache lines:
// a collective makes many requests of neighbouring objects, and a program that sweeps over its
// memory has taken these lines away since the last one. Handles follow each other too closely for
// this.
inline std::uint64_t object_hash(std::uintptr_t key) {
  if (key >> 32 == 0) return pointer_hash(key);
  return (mixed(key >> 12) >> 32) << 3 | (key >> 9 & 7);
}

template <std::uint64_t (*kHash)(std::uintptr_t)>
class BasicPointerMap {
 public:
  MapEntry* find(const void* pointer) const {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    if ((pages_.load(std::memory_order_relaxed) & page_bit(key)) == 0) return nullptr;
    for (const Table* t = first_.load(std::memory_order_acquire); t != nullptr;
         t = t->next.load(std::memory_order_acquire)) {
      for (std::uint64_t i = 0; i < kWindow; ++i) {
        MapEntry& entry = slot(t, key, i);
        const std::uintptr_t there = entry.key.load(std::memory_order_acquire);
        if (there == key) return &entry;
        if (there == 0) return nullptr;
      }
    }
    return nullptr;
  }

  MapEntry* find_or_insert(const void* pointer) {
    const auto key = reinterpret_cast<std::uintptr_t>(pointer);
    if ((pages_.load(std::memory_order_relaxed) & page_bit(key)) == 0)
      pages_.fetch_or(page_bit(key), std::memory_order_relaxed);
    std::atomic<Table*>* link = &first_;
    for (std::uint64_t size = kFirstSize;; size *= 4) {
      const Table* t = table_at(*link, size);
      if (t == nullptr) return nullptr;
      for (std::uint64_t i = 0; i < kWindow; ++i) {
        MapEntry& entry = slot(t, key, i);
        std::uintptr_t there = entry.key.load(std::memory_order_acquire);
        if (there == 0 && entry.key.compare_exchange_strong(there, key, std::memory_order_acq_rel))
          return &entry;
        if (there == key) return &entry;
      }
      link = const_cast<std::atomic<Table*>*>(&t->next);
    }
  }

 private:
  struct Table {
    std::uint64_t mask;
    std::atomic<Table*> next;
  };
  static constexpr std::uint64_t kFirstSize = 128;
  static constexpr std::uint64_t kWindow = 16;

  static std::uint64_t page_bit(std::uintptr_t key) { return 1ULL << (mixed(key >> 12) >> 58); }

  static MapEntry& slot(const Table* table, std::uintptr_t key, std::uint64_t step) {
    auto* entries = reinterpret_cast<MapEntry*>(const_cast<Table*>(table) + 1);
    return entries[(kHash(key) + step) & table->mask];
  }

  static Table* table_at(std::atomic<Table*>& link, std::uint64_t size) {
    Table* there = link.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    const std::size_t bytes = sizeof(Table) + size * sizeof(MapEntry);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* fresh = static_cast<Table*>(memory);  // zeros: every key empty
    fresh->mask = size - 1;
    if (link.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) return fresh;
    munmap(memory, bytes);
    return there;
  }

  std::atomic<Table*> first_{nullptr};
  // A bit stands for all pages of memory with one hash, and is set if a key on one of them is
  // there. A collective also looks for its receives, whose requests are on pages of their own.
  std::atomic<std::uint64_t> pages_{0};
};

using PointerMap = BasicPointerMap<pointer_hash>;
using ObjectMap = BasicPointerMap<object_hash>;

}  // namespace ondeloc
