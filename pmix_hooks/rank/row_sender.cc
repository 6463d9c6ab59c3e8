// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/row_sender.h"

#include <sys/mman.h>

#include <cstring>

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/pmix_events.h"

namespace ondeloc {
namespace {

struct Piece {
  ondeloc_record_row head;
  ondeloc_row_entry entries[ONDELOC_ROW_ENTRIES_MAX];
};

struct State {
  RowPlan plan;
  ondeloc_cell* sent;  // by cell; null: there was no memory, and every cell counts as changed
  Piece piece;
  std::uint32_t cells_of_piece[ONDELOC_ROW_ENTRIES_MAX];
};
constinit State state{};

std::uint32_t cells_of_half() { return state.plan.local_ranks + 1; }

std::uint32_t all_cells() { return 2 * (cells_of_half() + state.plan.off_node.count); }

// The peer of a cell of one of the halves of the row.
ondeloc_row_entry entry_in_half(std::uint32_t cell) {
  const std::uint32_t local = cell % cells_of_half();
  return {local == state.plan.local_ranks ? ONDELOC_ROW_OFF_NODE : state.plan.world_of_local[local],
          cell / cells_of_half(),
          {}};
}

ondeloc_row_entry entry_of(std::uint32_t cell) {
  if (cell < 2 * cells_of_half()) return entry_in_half(cell);
  const std::uint32_t at = cell - 2 * cells_of_half(), count = state.plan.off_node.count;
  return {
      __atomic_load_n(&state.plan.off_node.keys[at % count], __ATOMIC_RELAXED) - 1, at / count, {}};
}

bool flush(bool wait) {
  if (state.piece.head.count == 0) return true;
  const auto length = static_cast<std::uint32_t>(
      sizeof(state.piece.head) + state.piece.head.count * sizeof(ondeloc_row_entry));
  state.piece.head.head = state.plan.head;
  state.piece.head.head.length = length;
  const bool gone = send_event(ONDELOC_RECORD_ROW, &state.piece, length, wait);
  for (std::uint32_t i = 0; gone && state.sent != nullptr && i < state.piece.head.count; ++i)
    state.sent[state.cells_of_piece[i]] = state.piece.entries[i].total;
  state.piece.head.count = 0;
  return gone;
}

void put(std::uint32_t cell, const ondeloc_cell& total) {
  state.cells_of_piece[state.piece.head.count] = cell;
  ondeloc_row_entry& entry = state.piece.entries[state.piece.head.count++];
  entry = entry_of(cell);
  entry.total = total;
}

void send_cells(bool whole, bool wait) {
  state.piece.head.count = 0;
  state.piece.head.reserved = 0;
  for (std::uint32_t cell = 0; cell < all_cells(); ++cell) {
    const ondeloc_cell total = read_cell(state.plan.row[cell]);
    const std::uint64_t known = whole || state.sent == nullptr ? 0 : state.sent[cell].messages;
    if (total.messages != known) put(cell, total);
    if (state.piece.head.count == ONDELOC_ROW_ENTRIES_MAX && !flush(wait)) return;
  }
  flush(wait);
}

}  // namespace

void row_sender_start(const RowPlan& wanted) {
  state.plan = wanted;
  const std::size_t bytes = std::size_t{all_cells()} * sizeof(ondeloc_cell);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  state.sent = memory == MAP_FAILED ? nullptr : static_cast<ondeloc_cell*>(memory);
}

void send_changed_cells() { send_cells(false, false); }
void send_whole_row() { send_cells(true, true); }

}  // namespace ondeloc
