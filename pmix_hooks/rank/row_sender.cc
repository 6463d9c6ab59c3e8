// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/row_sender.h"

#include <sys/mman.h>

#include <cstring>

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/pmix_events.h"

namespace ondeloc {
namespace {

RowPlan plan;
ondeloc_cell* sent;  // by cell; null: no memory, then every cell counts as changed

struct Piece {
  ondeloc_record_row head;
  ondeloc_row_entry entries[ONDELOC_ROW_ENTRIES_MAX];
};
Piece piece;
std::uint32_t cells_of_piece[ONDELOC_ROW_ENTRIES_MAX];

std::uint32_t peer_of(std::uint32_t cell) {
  return cell == plan.local_ranks ? ONDELOC_ROW_OFF_NODE : plan.world_of_local[cell];
}

bool flush(bool wait) {
  if (piece.head.count == 0) return true;
  const auto length =
      static_cast<std::uint32_t>(sizeof(piece.head) + piece.head.count * sizeof(ondeloc_row_entry));
  piece.head.head = plan.head;
  piece.head.head.length = length;
  const bool gone = send_event(ONDELOC_RECORD_ROW, &piece, length, wait);
  for (std::uint32_t i = 0; gone && sent != nullptr && i < piece.head.count; ++i)
    sent[cells_of_piece[i]] = piece.entries[i].total;
  piece.head.count = 0;
  return gone;
}

void put(std::uint32_t cell, const ondeloc_cell& total) {
  cells_of_piece[piece.head.count] = cell;
  piece.entries[piece.head.count++] = {peer_of(cell), 0, total};
}

void send_cells(bool whole, bool wait) {
  piece.head.count = 0;
  piece.head.reserved = 0;
  for (std::uint32_t cell = 0; cell <= plan.local_ranks; ++cell) {
    const ondeloc_cell total = read_cell(plan.row[cell]);
    const std::uint64_t known = whole || sent == nullptr ? 0 : sent[cell].messages;
    if (total.messages != known) put(cell, total);
    if (piece.head.count == ONDELOC_ROW_ENTRIES_MAX && !flush(wait)) return;
  }
  flush(wait);
}

}  // namespace

void row_sender_start(const RowPlan& wanted) {
  plan = wanted;
  const std::size_t bytes = (std::size_t{plan.local_ranks} + 1) * sizeof(ondeloc_cell);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  sent = memory == MAP_FAILED ? nullptr : static_cast<ondeloc_cell*>(memory);
}

void send_changed_cells() { send_cells(false, false); }
void send_whole_row() { send_cells(true, true); }

}  // namespace ondeloc
