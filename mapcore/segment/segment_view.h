// SPDX-License-Identifier: Apache-2.0
// The mapper's view of the segment: it maps the segment once, verifies it once and then reads by
// copying. Other processes of the same user may write anything into the segment later, but no
// function here reads outside the mapping: all offsets follow from the two sizes that were
// verified, and seals keep the file from shrinking.
//
// Shapes: slots and rows by local rank, 0..local_ranks()-1. Half a row has local_ranks()+1 cells:
// cell j for local rank j (the rank itself included), the last for all ranks off the node together,
// the cells of single ranks off the node included. Units:
// bytes and messages, running totals. Ownership: the view owns the mapping, not the descriptor,
// which may be closed after open(). Thread safety: const members may run while ranks write (relaxed
// 64-bit loads); raise_tick() from one thread. Errors: open() only, one sentence.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/segment/header_check.h"
#include "mapcore/segment/layout.h"
#include "mapcore/segment/peer_cells.h"
#include "mapcore/segment/used_cells.h"

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

  // A copy of a slot. The task part is whole if task_state is ONDELOC_TASK_READY; mask_words is at
  // most ONDELOC_MASK_WORDS and library is always zero-terminated. The fields are only claims of a
  // process of the user. REQUIRES: 0 <= local < local_ranks().
  ondeloc_slot slot(int local) const;
  // The part of the slot that changes while a rank runs: copying all of it takes much longer.
  struct RankPart {
    std::uint32_t rank_state = 0, notes = 0;
    ondeloc_cell modelled{};
  };
  RankPart rank_part(int local) const;

  // Copies the first min(cells.size(), local_ranks() + 1) cells of what a rank sent. While no rank
  // has attached, returns false and zeros and does not touch the row, so that first touch puts its
  // pages on the NUMA node of its writer. REQUIRES: 0 <= local < local_ranks().
  bool read_row(int local, std::span<ondeloc_cell> cells) const;

  // True if a rank may have fetched data: it has made a window for one-sided communication. Only
  // then the second half of its row is touched.
  bool fetches(int local) const;
  // The totals that a rank fetched from local rank `from`, or if that is local_ranks(), from other
  // nodes.
  // REQUIRES: fetches(local).
  ondeloc_cell fetched(int local, int from) const;

  // Calls visit(world rank, cell) for each rank off the node that has a cell of its own: what was
  // sent to it, and with `fetched`, what was fetched from it. REQUIRES: fetches(local) for that.
  template <class Visit>
  void each_off_node(int local, bool fetched, Visit visit) const {
    if (ondeloc_cell* const row = row_at(local)) each_off_node_in(row, fetched, visit);
  }

  // Calls visit(local rank, cell) for each local rank whose cells are in use, ascending, then
  // visit(local_ranks(), the sum of all ranks off the node): what was sent to it, and with
  // `fetched`, what was fetched from it. Calls nothing while no rank has attached. REQUIRES:
  // fetches(local) for `fetched`.
  template <class Visit>
  void each_cell(int local, bool fetched, Visit visit) const {
    ondeloc_cell* const row = row_at(local);
    if (row == nullptr) return;
    ondeloc_cell* const cells = half_of(row, fetched);
    used_cells_of(row, header_.local_ranks, header_.world_ranks).each([&](std::uint32_t at) {
      if (at < header_.local_ranks) visit(static_cast<int>(at), read(cells[at]));
    });
    visit(local_ranks(), off_node_in(row, fetched));
  }

  // Asks the CPU to load the cells that each_cell(local, false) will read, and the marks of the row
  // after them: most are in caches of other cores. Nothing if there is no such rank.
  void prefetch(int local) const;

  // Local rank of a world rank, or -1 if it is not on this node or the table is invalid.
  int local_of_world(std::uint32_t world) const;

  // The event channel (channel_layout.h), nullptr if the segment has none.
  char* channel() const;

  // True once a rank has called MPI_Init, long before it attaches at the end of that call.
  bool mpi_starts() const;

  std::uint64_t tick() const;
  void raise_tick();  // asks every rank for a SAMPLE
  void set_mapper_pid(std::int32_t pid);

 private:
  SegmentView(char* base, const ondeloc_header& header) : base_(base), header_(header) {}
  ondeloc_slot* slot_at(int local) const;
  ondeloc_cell* row_of(int local) const;
  // The row, nullptr while no rank has attached. Any process of the user may change that between
  // two calls: a function asks once.
  ondeloc_cell* row_at(int local) const;
  // The cells of what the rank of a row sent, or with `fetched`, of what it fetched.
  ondeloc_cell* half_of(ondeloc_cell* row, bool fetched) const {
    return row + (fetched ? header_.row_cells : 0);
  }
  template <class Visit>
  void each_off_node_in(ondeloc_cell* row, bool fetched, Visit visit) const {
    const PeerCells peers = peer_cells_of(row, header_.local_ranks, header_.world_ranks);
    ondeloc_cell* const cells = fetched ? peers.fetched : peers.sent;
    peers.each([&](std::uint32_t world, std::uint32_t at) {
      if (world < header_.world_ranks) visit(world, read(cells[at]));
    });
  }
  ondeloc_cell off_node_in(ondeloc_cell* row, bool fetched) const;
  static ondeloc_cell read(ondeloc_cell& shared) {
    return {std::atomic_ref(shared.bytes).load(std::memory_order_relaxed),
            std::atomic_ref(shared.messages).load(std::memory_order_relaxed)};
  }
  ondeloc_header* shared_header() const;
  char* base_;
  ondeloc_header header_;
};

}  // namespace ondeloc
