// SPDX-License-Identifier: Apache-2.0
// The recorder's end of the event channel (segment/channel_layout.h): polls the contiguous counters
// and copies the events of the ranks. Checks every index and count, because a process of the user
// can write anything there. Ownership: borrows the channel's memory. Thread safety: one thread, one
// reader per channel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mapcore/segment/channel_layout.h"

namespace ondeloc {

class EventPools {
 public:
  // Events of one rank in its order; times are base_ns + after_ns.
  using Take = std::function<void(std::uint32_t local, std::uint64_t base_ns,
                                  std::span<const ondeloc_event> events)>;

  EventPools(char* channel, std::uint32_t local_ranks, std::uint32_t cells);

  // Passes on every queued cell, the cells of one rank in order, at most one round of each pool.
  // Returns the number of events.
  std::uint64_t drain(const Take& take);
  // Passes on the events in cells that ranks are still filling. Call it after drain(). Repeated
  // calls pass on each event once.
  std::uint64_t drain_unfinished(const Take& take);

  struct Drops {
    std::uint64_t events = 0, bytes = 0;  // all that the rank could not pass on
    std::uint64_t crowded = 0;            // of these events: another thread of it was writing
  };
  Drops drops(std::uint32_t local) const;

 private:
  struct Reader {
    std::uint64_t taken = 0;    // cells
    std::uint32_t partial = 0;  // events of the next cell that were read before it was queued
  };
  std::uint64_t take_cell(std::uint32_t local, std::uint32_t index, const Take& take);
  void free_cell(std::uint32_t local, std::uint32_t index);
  ondeloc_pool* pool(std::uint32_t local) const;
  std::uint64_t queued(std::uint32_t local) const;

  char* channel_;
  std::uint32_t ranks_, cells_;
  std::vector<Reader> readers_;
  std::unique_ptr<ondeloc_event_cell> copy_;
};

}  // namespace ondeloc
