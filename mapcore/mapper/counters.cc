// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/counters.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace ondeloc {

Counters::Counters(int local_ranks)
    : ranks_(local_ranks),
      off_node_(static_cast<std::size_t>(local_ranks)),
      row_words_(static_cast<std::size_t>(local_ranks) / 64 + 1),
      grown_(first_word(local_ranks)),
      row_(static_cast<std::size_t>(local_ranks)),
      row_messages_(static_cast<std::size_t>(local_ranks)) {
  // The first pair of rank i is that with i + 1. The first value wraps around to -1.
  std::size_t before = static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < off_node_.size(); ++i) {
    pairs_before_.push_back(before);
    before += off_node_.size() - i - 2;
  }
  pairs_.resize(off_node_.size() * (off_node_.size() - 1) / 2);
}

namespace {

// Raises a total to what was seen of it, and adds to the growth. Returns true if the total grew.
template <class Growth>
bool raise(ondeloc_cell& total, const ondeloc_cell& seen, Growth& growth) {
  if (seen.bytes <= total.bytes && seen.messages <= total.messages) return false;
  const auto raise_one = [](std::uint64_t& now, std::uint64_t value, double& sum) {
    if (value <= now) return;
    sum += static_cast<double>(value - now);
    now = value;
  };
  raise_one(total.bytes, seen.bytes, growth.bytes);
  raise_one(total.messages, seen.messages, growth.messages);
  return true;
}

void raise(ondeloc_cell& total, const ondeloc_cell& seen) {
  total.bytes = std::max(total.bytes, seen.bytes);
  total.messages = std::max(total.messages, seen.messages);
}

void add_cell(ondeloc_cell& sum, const ondeloc_cell& cell) {
  sum.bytes += cell.bytes;
  sum.messages += cell.messages;
}

}  // namespace

ondeloc_cell Counters::sent(int from, int to) const {
  return from < to ? pairs_[index_of_pair(from, to)].to_larger
                   : pairs_[index_of_pair(to, from)].to_smaller;
}

ondeloc_cell Counters::total(int from, int to) const {
  if (from == to) return {};
  ondeloc_cell sum = sent(from, to);
  add_cell(sum, fetched(to, from));
  return sum;
}

ondeloc_cell Counters::total_off_node(int rank) const {
  ondeloc_cell sum = off_node_[static_cast<std::size_t>(rank)].sent;
  add_cell(sum, fetched(rank, ranks_));
  return sum;
}

inline void Counters::raise_sent(int from, int to, const ondeloc_cell& seen) {
  if (from == to) return;
  bool grew = false;
  if (to == ranks_) {
    OffNodeSums& sums = off_node_[static_cast<std::size_t>(from)];
    grew = raise(sums.sent, seen, sums.growth);
  } else {
    Pair& both = pair(from, to);
    grew = raise(from < to ? both.to_larger : both.to_smaller, seen, both.growth);
  }
  if (grew) mark(from, to);
}

void Counters::raise_fetched(int fetcher, int source, const ondeloc_cell& seen) {
  if (fetcher == source) return;
  if (fetched_.empty()) fetched_.resize(index_of_fetched(ranks_, 0));
  Growth& growth = source == ranks_ ? off_node_[static_cast<std::size_t>(fetcher)].growth
                                    : pair(fetcher, source).growth;
  if (raise(fetched_[index_of_fetched(fetcher, source)], seen, growth)) mark(fetcher, source);
}

void Counters::read_rows(const SegmentView& view) {
  for (int i = 0; i < ranks_; ++i) {
    view.prefetch(i + 1);
    view.each_cell(i, false, [&](int j, const ondeloc_cell& seen) { raise_sent(i, j, seen); });
    if (!view.fetches(i)) continue;
    view.each_cell(i, true, [&](int j, const ondeloc_cell& seen) { raise_fetched(i, j, seen); });
  }
}

// `cell`: one of its own. The sum grows with it: to add up a thousand peers for each of a thousand
// entries would take the mapper longer than an interval.
void Counters::OffNode::raise_one(ondeloc_cell& cell, const ondeloc_cell& seen) {
  const ondeloc_cell before = cell;
  raise(cell, seen);
  add_cell(total, {cell.bytes - before.bytes, cell.messages - before.messages});
}

void Counters::add_off_node_event(int rank, const SegmentView& view,
                                  const ondeloc_row_entry& entry) {
  if (told_.empty()) told_.resize(static_cast<std::size_t>(ranks_));
  OffNodeOfRank& of_rank = told_[static_cast<std::size_t>(rank)];
  OffNode& told = entry.fetched != 0 ? of_rank.fetched : of_rank.sent;
  if (entry.peer == ONDELOC_ROW_OFF_NODE) {
    told.raise_one(told.rest, entry.total);
  } else {
    if (entry.peer >= view.header().world_ranks) return;
    // A rank has no more cells than that.
    if (told.by_peer.size() >= view.header().peer_cells && !told.by_peer.contains(entry.peer))
      return;
    told.raise_one(told.by_peer[entry.peer], entry.total);
  }
  if (entry.fetched != 0)
    raise_fetched(rank, ranks_, told.total);
  else
    raise_sent(rank, ranks_, told.total);
}

std::map<std::uint32_t, ondeloc_cell> Counters::off_node_by_peer(const SegmentView& view,
                                                                 int rank) const {
  OffNodeOfRank all;
  if (!told_.empty()) all = told_[static_cast<std::size_t>(rank)];
  view.each_off_node(rank, false, [&](std::uint32_t peer, const ondeloc_cell& cell) {
    raise(all.sent.by_peer[peer], cell);
  });
  if (view.fetches(rank))
    view.each_off_node(rank, true, [&](std::uint32_t peer, const ondeloc_cell& cell) {
      raise(all.fetched.by_peer[peer], cell);
    });
  for (const auto& [peer, cell] : all.fetched.by_peer) add_cell(all.sent.by_peer[peer], cell);
  return std::move(all.sent.by_peer);
}

void Counters::add_row_event(const SegmentView& view, const RowRecord& row) {
  const int rank = view.local_of_world(row.head.head.world_rank);
  if (rank < 0) return;
  for (const ondeloc_row_entry& entry : row.entries) {
    const int peer = view.local_of_world(entry.peer);
    if (peer < 0)
      add_off_node_event(rank, view, entry);
    else if (entry.fetched != 0)
      raise_fetched(rank, peer, entry.total);
    else
      raise_sent(rank, peer, entry.total);
  }
}

ondeloc_cell Counters::counted_by(int rank) const {
  ondeloc_cell sum = total_off_node(rank);
  for (int j = 0; j < ranks_; ++j) {
    if (j == rank) continue;
    add_cell(sum, sent(rank, j));
    add_cell(sum, fetched(rank, j));
  }
  return sum;
}

void Counters::take_off_node(int rank) {
  const Growth grown = std::exchange(off_node_[static_cast<std::size_t>(rank)].growth, {});
  delta_.off_node[static_cast<std::size_t>(rank)] = grown.bytes;
  delta_.off_node_messages += grown.messages;
}

// The rows of the traffic are made here without a matrix between: where all ranks talk to all, the
// mapper spends a good part of an interval here. Each pair is met twice, with the larger rank in
// the end.
void Counters::take_row(int rank) {
  std::size_t length = 0;
  for (std::size_t word = 0; word < row_words_; ++word)
    for (std::uint64_t left = std::exchange(grown_[first_word(rank) + word], 0); left != 0;
         left &= left - 1) {
      const int peer = static_cast<int>(64 * word) + std::countr_zero(left);
      if (peer == ranks_) {
        take_off_node(rank);
        continue;
      }
      Growth& both = pair(rank, peer).growth;
      row_[length] = {peer, both.bytes};
      row_messages_[length++] = both.messages;
      if (peer < rank) both = {};
    }
  delta_.traffic.append(std::span(row_).first(length), std::span(row_messages_).first(length));
}

const CounterDelta& Counters::take_delta() {
  std::size_t grown = 0;
  for (const std::uint64_t word : grown_) grown += static_cast<std::size_t>(std::popcount(word));
  const auto n = static_cast<std::size_t>(ranks_);
  delta_.traffic.restart(n, grown);
  delta_.off_node.assign(n, 0);
  delta_.off_node_messages = 0;
  for (int rank = 0; rank < ranks_; ++rank) take_row(rank);
  return delta_;
}

}  // namespace ondeloc
