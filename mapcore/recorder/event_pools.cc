// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/event_pools.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "mapcore/base/saturating.h"

namespace ondeloc {
namespace {

template <class T>
T load(T& shared, std::memory_order order = std::memory_order_acquire) {
  return std::atomic_ref<T>(shared).load(order);
}

}  // namespace

EventPools::EventPools(char* channel, std::uint32_t local_ranks, std::uint32_t cells)
    : channel_(channel),
      ranks_(local_ranks),
      cells_(cells),
      readers_(local_ranks),
      copy_(std::make_unique<ondeloc_event_cell>()) {}

ondeloc_pool* EventPools::pool(std::uint32_t local) const {
  return ondeloc_pool_at(channel_, ranks_, cells_, local);
}

std::uint64_t EventPools::queued(std::uint32_t local) const {
  return load(*ondeloc_queued(channel_, local));
}

// Copies the new part first and passes on the events from the copy, which the rank cannot change.
std::uint64_t EventPools::take_cell(std::uint32_t local, std::uint32_t index, const Take& take) {
  ondeloc_event_cell& cell = ondeloc_event_cells(pool(local))[index];
  const std::uint32_t from = readers_[local].partial;
  const std::uint32_t count = std::min(load(cell.count), ONDELOC_EVENTS_PER_CELL);
  if (count <= from) return 0;
  const std::uint64_t base = load(cell.base_ns, std::memory_order_relaxed);
  std::memcpy(copy_->events, cell.events + from, (count - from) * sizeof(ondeloc_event));
  readers_[local].partial = count;
  take(local, base, {copy_->events, count - from});
  return count - from;
}

void EventPools::free_cell(std::uint32_t local, std::uint32_t index) {
  readers_[local].partial = 0;
  std::atomic_ref<std::uint32_t>(pool(local)->state[index])
      .store(ONDELOC_CELL_FREE, std::memory_order_release);
  std::atomic_ref<std::uint64_t>(*ondeloc_taken(channel_, ranks_, local))
      .store(++readers_[local].taken, std::memory_order_release);
}

std::uint64_t EventPools::drain(const Take& take) {
  std::uint64_t events = 0;
  for (std::uint32_t local = 0; local < ranks_; ++local) {
    const std::uint64_t there = queued(local);
    // No rank queues more cells than it has. To follow another number would fill the disk.
    if (there - readers_[local].taken > cells_) continue;
    while (readers_[local].taken != there) {
      const std::uint32_t index =
          load(pool(local)->queue[readers_[local].taken % ONDELOC_RECORD_CELLS_MAX]);
      if (index >= cells_) break;
      events += take_cell(local, index, take);
      free_cell(local, index);
    }
  }
  return events;
}

std::uint64_t EventPools::drain_unfinished(const Take& take) {
  std::uint64_t events = 0;
  for (std::uint32_t local = 0; local < ranks_; ++local) {
    const std::uint32_t current = load(pool(local)->current);
    // Only the cell that will be queued next may be read early. If the rank had queued it
    // meanwhile, the counter would show that now.
    if (current == 0 || current > cells_ || queued(local) != readers_[local].taken) continue;
    events += take_cell(local, current - 1, take);
  }
  return events;
}

EventPools::Drops EventPools::drops(std::uint32_t local) const {
  ondeloc_pool& from = *pool(local);
  const std::uint64_t crowded = load(from.crowded_events);
  return {saturating_sum(load(from.dropped_events), crowded),
          saturating_sum(load(from.dropped_bytes), load(from.crowded_bytes)), crowded};
}

}  // namespace ondeloc
