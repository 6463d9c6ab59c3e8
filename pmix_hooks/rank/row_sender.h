// SPDX-License-Identifier: Apache-2.0
// ROW records: running totals of a private row, in pieces of one record each. Thread safety: one
// caller at a time (reporter.cc).
#pragma once

#include <cstdint>

#include "mapcore/segment/event_record.h"
#include "mapcore/segment/peer_cells.h"

namespace ondeloc {

struct RowPlan {
  ondeloc_record_head head;  // length is filled in
  const ondeloc_cell* row;   // layout.h
  PeerCells off_node;        // of the row
  const std::uint32_t* world_of_local;
  std::uint32_t local_ranks;
};

void row_sender_start(const RowPlan& plan);
// Sends the cells that have changed since they were last sent. A piece that finds no free buffer is
// left for the next time.
void send_changed_cells();
// All cells that are not zero, waiting for buffers.
void send_whole_row();

}  // namespace ondeloc
