// SPDX-License-Identifier: Apache-2.0
// The running totals of all ranks of the node, and their growth since the last look.
//
// Shape: a place for each pair of local ranks, pairs in the order of the smaller rank, then of the
// larger one, and a place for each rank's totals off the node. What ranks fetch by one-sided
// communication is kept from the first window on, as local_ranks rows of local_ranks + 1 cells,
// row-major, the last = fetched off the node; to readers a fetch is data that its source sent, and
// a fetch from another node is traffic off the node. Totals come from the segment's rows, or from
// ROW events (transport=pmix); the larger of two totals counts, so that a lost event makes a total
// old, never wrong. The totals of single ranks off the node are read from the segment when they are
// asked for; those of ROW events are kept. Memory: 24 n^2 bytes, with windows 40 n^2, and up to 24
// n^2 for the growth; with ROW events at most ONDELOC_PEER_CELLS_MAX totals a rank beside them.
// Thread safety: for one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/segment/record_check.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

struct CounterDelta {
  Traffic traffic;               // between local ranks
  std::vector<double> off_node;  // bytes per local rank
  double off_node_messages = 0;
};

class Counters {
 public:
  explicit Counters(int local_ranks);

  void read_rows(const SegmentView& view);
  void add_row_event(const SegmentView& view, const RowRecord& row);

  // Returns the growth of the counters since the last call, at the first call all they count. A
  // counter that went back counts as unchanged. The reference is valid until the next call, which
  // uses its memory again: fresh memory of that size would come from the kernel in each interval.
  const CounterDelta& take_delta();

  ondeloc_cell total(int from, int to) const;  // nothing from a rank to itself
  ondeloc_cell total_off_node(int rank) const;
  // Returns the totals that a rank sent to, or fetched from, single ranks of other nodes, by world
  // rank, as far as its row tells them apart. They are part of total_off_node().
  std::map<std::uint32_t, ondeloc_cell> off_node_by_peer(const SegmentView& view, int rank) const;
  // Returns what a rank has counted itself: sent to and fetched from all other ranks, those of
  // other nodes included.
  ondeloc_cell counted_by(int rank) const;
  int ranks() const { return ranks_; }

 private:
  // Bytes and messages since the last delta, sent and fetched.
  struct Growth {
    double bytes = 0, messages = 0;
  };
  // Everything about two ranks stands together: where most ranks talk to few others, each cache
  // line that is touched counts.
  struct Pair {
    ondeloc_cell to_larger{}, to_smaller{};  // totals sent
    Growth growth;                           // both ways
  };
  struct OffNodeSums {
    ondeloc_cell sent{};
    Growth growth;
  };

  // REQUIRES: smaller < larger.
  std::size_t index_of_pair(int smaller, int larger) const {
    return pairs_before_[static_cast<std::size_t>(smaller)] + static_cast<std::size_t>(larger);
  }
  Pair& pair(int a, int b) { return pairs_[index_of_pair(std::min(a, b), std::max(a, b))]; }
  ondeloc_cell fetched(int fetcher, int source) const {
    return fetched_.empty() ? ondeloc_cell{} : fetched_[index_of_fetched(fetcher, source)];
  }
  std::size_t index_of_fetched(int fetcher, int source) const {
    return static_cast<std::size_t>(fetcher) * static_cast<std::size_t>(ranks_ + 1) +
           static_cast<std::size_t>(source);
  }
  ondeloc_cell sent(int from, int to) const;
  void raise_sent(int from, int to, const ondeloc_cell& seen);
  void raise_fetched(int fetcher, int source, const ondeloc_cell& seen);
  // Notes that two ranks have growth, or with `to` = ranks_ that `from` has some off the node.
  void mark(int from, int to) {
    set_bit(from, to);
    if (to < ranks_) set_bit(to, from);
  }
  void set_bit(int row, int at) {
    grown_[first_word(row) + static_cast<std::size_t>(at) / 64] |= std::uint64_t{1} << at % 64;
  }
  std::size_t first_word(int from) const { return static_cast<std::size_t>(from) * row_words_; }
  void take_off_node(int rank);
  void take_row(int rank);

  // The totals off the node that ROW events of a rank have told, sent or fetched. The row's own
  // off-node cell and those of single ranks come in several events.
  struct OffNode {
    ondeloc_cell rest{};                            // without those of single ranks
    std::map<std::uint32_t, ondeloc_cell> by_peer;  // world rank
    ondeloc_cell total{};                           // of both
    void raise_one(ondeloc_cell& cell, const ondeloc_cell& seen);
  };
  struct OffNodeOfRank {
    OffNode sent, fetched;
  };
  void add_off_node_event(int rank, const SegmentView& view, const ondeloc_row_entry& entry);

  int ranks_;
  std::vector<std::size_t> pairs_before_;  // by smaller rank: the index of a pair less its larger
  std::vector<Pair> pairs_;
  std::vector<OffNodeSums> off_node_;
  // A bit for each pair with growth, in the rows of both ranks, row_words_ words a row: most pairs
  // of ranks send nothing.
  std::size_t row_words_;
  std::vector<std::uint64_t> grown_;
  CounterDelta delta_;
  std::vector<Traffic::Edge> row_;  // of take_row()
  std::vector<double> row_messages_;
  std::vector<ondeloc_cell> fetched_;  // rows by fetcher; empty while nobody has a window
  std::vector<OffNodeOfRank> told_;    // empty without ROW events
};

}  // namespace ondeloc
