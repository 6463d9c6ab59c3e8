// SPDX-License-Identifier: Apache-2.0
// The mapper's view of the segment: mapped once, verified once, then read by copying. Whatever
// other processes of the same user write into it later, nothing here reads outside the mapping:
// all places follow from the two sizes that were checked at the start, and seals keep the file
// from shrinking under the mapping.
//
// Shapes: slots and rows by local rank, 0..local_ranks()-1; a row has local_ranks()+1 cells, cell
// j = sent to local rank j (the own cell included), the last = sent off the node. Units: bytes and
// messages, running totals. Ownership: the view owns the mapping, not the descriptor, which may be
// closed after open(). Thread safety: const members may run while ranks write (relaxed 64-bit
// loads); raise_tick() from one thread.
// Errors: open() only, one sentence.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/segment/header_check.h"
#include "mapcore/segment/layout.h"

namespace ondeloc {

class SegmentView {
 public:
  static Result<SegmentView> open(int fd);
  SegmentView(SegmentView&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), header_(other.header_) {}
  SegmentView& operator=(SegmentView&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(header_, other.header_);
    return *this;
  }
  SegmentView(const SegmentView&) = delete;
  SegmentView& operator=(const SegmentView&) = delete;
  ~SegmentView();

  // The header as it was when it was verified. Use tick() for the tick.
  const ondeloc_header& header() const { return header_; }
  int local_ranks() const { return static_cast<int>(header_.local_ranks); }
  int world_ranks() const { return static_cast<int>(header_.world_ranks); }

  // A copy of a slot. The task part is whole where task_state is ONDELOC_TASK_READY; mask_words is
  // never above ONDELOC_MASK_WORDS and library is always zero-terminated. What the fields say is
  // still only what a process of the user said. REQUIRES: 0 <= local < local_ranks().
  ondeloc_slot slot(int local) const;

  // Copies a row: its first min(cells.size(), local_ranks() + 1) cells. False, and zeros, while no
  // rank has attached: an untouched row is left untouched, so that its pages come to be on the
  // NUMA node of its writer. REQUIRES: 0 <= local < local_ranks().
  bool read_row(int local, std::span<ondeloc_cell> cells) const;

  // The same without a copy: raises each total to what the row says now, if that is more. Nothing
  // happens while no rank has attached.
  void raise_to_row(int local, std::span<ondeloc_cell> totals) const;

  // Local rank of a world rank, -1 when it is not on this node or the table holds nonsense.
  int local_of_world(std::uint32_t world) const;

  // The event channel (channel_layout.h), nullptr where the segment has none.
  char* channel() const;

  std::uint64_t tick() const;
  void raise_tick();  // asks every rank for a SAMPLE
  void set_mapper_pid(std::int32_t pid);

 private:
  SegmentView(char* base, const ondeloc_header& header) : base_(base), header_(header) {}
  ondeloc_slot* slot_at(int local) const;
  std::span<ondeloc_cell> row_at(int local) const;
  ondeloc_header* shared_header() const;
  char* base_;
  ondeloc_header header_;
};

}  // namespace ondeloc
