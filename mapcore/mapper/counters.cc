// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/counters.h"

#include <algorithm>

namespace ondeloc {

Counters::Counters(int local_ranks)
    : ranks_(local_ranks), now_(index(local_ranks, 0)), last_(now_.size()) {}

void Counters::raise(int from, int to, const ondeloc_cell& seen) {
  ondeloc_cell& cell = now_[index(from, to)];
  cell.bytes = std::max(cell.bytes, seen.bytes);
  cell.messages = std::max(cell.messages, seen.messages);
}

void Counters::read_rows(const SegmentView& view) {
  const auto cells = static_cast<std::size_t>(ranks_) + 1;
  for (int i = 0; i < ranks_; ++i)
    view.raise_to_row(i, std::span(now_).subspan(index(i, 0), cells));
}

void Counters::add_row_event(const SegmentView& view, const RowRecord& row) {
  const int from = view.local_of_world(row.head.head.world_rank);
  if (from < 0) return;
  for (const ondeloc_row_entry& entry : row.entries) {
    const bool off_node = entry.peer == ONDELOC_ROW_OFF_NODE;
    const int to = off_node ? ranks_ : view.local_of_world(entry.peer);
    if (to >= 0) raise(from, to, entry.total);
  }
}

ondeloc_cell Counters::sum_of(int from) const {
  ondeloc_cell sum{};
  for (int j = 0; j <= ranks_; ++j) {
    if (j == from) continue;
    sum.bytes += now_[index(from, j)].bytes;
    sum.messages += now_[index(from, j)].messages;
  }
  return sum;
}

CounterDelta Counters::take_delta() {
  CounterDelta delta;
  delta.matrix.ranks = ranks_;
  delta.matrix.entries.reserve(cells_);
  delta.off_node.resize(static_cast<std::size_t>(ranks_));
  auto grown = [](std::uint64_t now, std::uint64_t last) {
    return now > last ? static_cast<double>(now - last) : 0.0;
  };
  for (int i = 0; i < ranks_; ++i) {
    for (int j = 0; j <= ranks_; ++j) {
      const ondeloc_cell& now = now_[index(i, j)];
      ondeloc_cell& last = last_[index(i, j)];
      if (now.bytes == last.bytes && now.messages == last.messages) continue;  // most of them
      const double bytes = grown(now.bytes, last.bytes),
                   messages = grown(now.messages, last.messages);
      if (i == j || (bytes == 0 && messages == 0)) continue;
      last = now;
      if (j == ranks_) {
        delta.off_node[static_cast<std::size_t>(i)] = bytes;
        delta.off_node_messages += messages;
      } else {
        delta.matrix.entries.push_back({i, j, bytes, messages});
        delta.messages += messages;
      }
    }
  }
  cells_ = delta.matrix.entries.size();
  return delta;
}

}  // namespace ondeloc
