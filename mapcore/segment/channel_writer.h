// SPDX-License-Identifier: Apache-2.0
// The rank's end of the event channel (channel_layout.h), header only, libc only. Every message of
// `profile` mode goes through it. It takes no lock, does not allocate, makes no system call (the
// vDSO reads the clock) and never waits. Errors: none; the pool counts messages that find no free
// cell. Ownership: borrows the channel's memory. Thread safety: one writer per pool; in
// write_shared() the threads of a rank take turns by one flag, which each tries a bounded number of
// times; the pool counts messages that get no turn.
#pragma once

#include <time.h>

#include <cstdint>

#include "mapcore/segment/channel_layout.h"

namespace ondeloc {

inline std::uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class ChannelWriter {
 public:
  // `base`: start of the channel. REQUIRES: local < local_ranks, 0 < cells <=
  // ONDELOC_RECORD_CELLS_MAX.
  void start(char* base, std::uint32_t local_ranks, std::uint32_t cells, std::uint32_t local) {
    pool_ = ondeloc_pool_at(base, local_ranks, cells, local);
    queued_ = ondeloc_queued(base, local);
    taken_ = ondeloc_taken(base, local_ranks, local);
    cells_ = cells;
    sweep();
  }

  void write(std::uint64_t now_ns, std::uint32_t world, std::uint64_t bytes) {
    ondeloc_event_cell* cell = cell_;
    if (__builtin_expect(
            cell == nullptr || count_ >= ONDELOC_EVENTS_PER_CELL || now_ns - base_ns_ > UINT32_MAX,
            0)) {
      cell = next_cell(now_ns);
      if (cell == nullptr) return drop(bytes);
    }
    cell->events[count_] = {static_cast<std::uint32_t>(now_ns - base_ns_), world, bytes};
    __atomic_store_n(&cell->count, ++count_, __ATOMIC_RELEASE);
  }

  // For a rank with several sending threads. Reads the clock inside the turn, so that times stay in
  // order.
  void write_shared(std::uint32_t world, std::uint64_t bytes) {
    if (__builtin_expect(!take_turn(), 0)) return count_crowded(bytes);
    write(monotonic_ns(), world, bytes);
    end_turn();
  }

  // Begins a thread's turn to write(). False if another thread kept the turn all the time.
  bool take_turn() {
    for (int tries = 0; __atomic_exchange_n(&taken_turn_, 1U, __ATOMIC_ACQUIRE) != 0; ++tries) {
      if (tries == kMostTries) return false;
    }
    return true;
  }
  void end_turn() { __atomic_store_n(&taken_turn_, 0U, __ATOMIC_RELEASE); }

 private:
  static constexpr int kMostTries = 1000;

  [[gnu::noinline]] ondeloc_event_cell* next_cell(std::uint64_t now_ns) {
    if (cell_ != nullptr && count_ > 0) pass_on();
    if (cell_ == nullptr && swept_at_ == __atomic_load_n(taken_, __ATOMIC_ACQUIRE)) return nullptr;
    if (cell_ == nullptr) sweep();
    if (cell_ != nullptr) cell_->base_ns = base_ns_ = now_ns;
    return cell_;
  }

  void pass_on() {
    const std::uint64_t place = __atomic_load_n(queued_, __ATOMIC_RELAXED);
    __atomic_store_n(&pool_->queue[place % ONDELOC_RECORD_CELLS_MAX], index_, __ATOMIC_RELAXED);
    __atomic_store_n(&pool_->current, 0, __ATOMIC_RELEASE);
    __atomic_store_n(queued_, place + 1, __ATOMIC_RELEASE);
    cell_ = nullptr;
    swept_at_ = kNotSwept;
  }

  // Takes the lowest free cell. If there is none, next_cell() sweeps again after the recorder has
  // drained a cell.
  void sweep() {
    swept_at_ = __atomic_load_n(taken_, __ATOMIC_ACQUIRE);
    for (std::uint32_t i = 0; i < cells_; ++i) {
      if (__atomic_load_n(&pool_->state[i], __ATOMIC_ACQUIRE) != ONDELOC_CELL_FREE) continue;
      index_ = i;
      cell_ = ondeloc_event_cells(pool_) + i;
      count_ = 0;
      __atomic_store_n(&cell_->count, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&pool_->state[i], ONDELOC_CELL_BUSY, __ATOMIC_RELAXED);
      __atomic_store_n(&pool_->current, i + 1, __ATOMIC_RELEASE);
      return;
    }
  }

  void drop(std::uint64_t bytes) {
    __atomic_store_n(&pool_->dropped_events,
                     __atomic_load_n(&pool_->dropped_events, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&pool_->dropped_bytes,
                     __atomic_load_n(&pool_->dropped_bytes, __ATOMIC_RELAXED) + bytes,
                     __ATOMIC_RELAXED);
  }
  [[gnu::cold]] void count_crowded(std::uint64_t bytes) {
    __atomic_fetch_add(&pool_->crowded_events, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool_->crowded_bytes, bytes, __ATOMIC_RELAXED);
  }

  static constexpr std::uint64_t kNotSwept = UINT64_MAX;
  ondeloc_event_cell* cell_ = nullptr;  // being filled
  std::uint64_t base_ns_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t index_ = 0;
  ondeloc_pool* pool_ = nullptr;
  std::uint64_t* queued_ = nullptr;
  const std::uint64_t* taken_ = nullptr;
  std::uint64_t swept_at_ = kNotSwept;
  std::uint32_t cells_ = 0;
  std::uint32_t taken_turn_ = 0;
};

}  // namespace ondeloc
