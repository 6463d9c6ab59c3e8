// SPDX-License-Identifier: Apache-2.0
// The running totals of all ranks of the node and what came since the last look.
//
// Shape: local_ranks rows of local_ranks + 1 cells, row-major; cell j = sent to local rank j (own
// cell left out by every reader), the last = sent off the node. Totals come from the segment's
// rows, or from ROW events (transport=pmix); of two totals the larger counts, so that a lost event
// costs freshness only. Memory: 32 n^2 bytes. Thread safety: for one thread.
#pragma once

#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/segment/record_check.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

struct CounterDelta {
  CommMatrix matrix;             // by local rank
  std::vector<double> off_node;  // bytes per local rank
  double off_node_messages = 0;
  double messages = 0;
};

class Counters {
 public:
  explicit Counters(int local_ranks);

  void read_rows(const SegmentView& view);
  void add_row_event(const SegmentView& view, const RowRecord& row);

  // What has come since the last call (all, at the first); a counter that went back counts as
  // unchanged.
  CounterDelta take_delta();

  const ondeloc_cell& total(int from, int to) const { return now_[index(from, to)]; }
  const ondeloc_cell& total_off_node(int from) const { return now_[index(from, ranks_)]; }
  // What rank `from` sent to all others, off the node included.
  ondeloc_cell sum_of(int from) const;
  int ranks() const { return ranks_; }

 private:
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_ + 1) +
           static_cast<std::size_t>(to);
  }
  void raise(int from, int to, const ondeloc_cell& seen);

  int ranks_;
  std::vector<ondeloc_cell> now_, last_;
  std::size_t cells_ = 0;  // of the last delta: the next has as many
};

}  // namespace ondeloc
