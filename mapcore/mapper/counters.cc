// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/counters.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace ondeloc {

Counters::Counters(int local_ranks)
    : ranks_(local_ranks),
      totals_(index(local_ranks, 0)),
      row_words_(static_cast<std::size_t>(local_ranks) / 64 + 1),
      raised_(first_word(local_ranks)),
      row_(static_cast<std::size_t>(local_ranks)),
      row_messages_(static_cast<std::size_t>(local_ranks)) {}

namespace {

// True if the cell has grown.
bool raise(ondeloc_cell& cell, const ondeloc_cell& seen) {
  if (seen.bytes <= cell.bytes && seen.messages <= cell.messages) return false;
  cell.bytes = std::max(cell.bytes, seen.bytes);
  cell.messages = std::max(cell.messages, seen.messages);
  return true;
}

void add_cell(ondeloc_cell& sum, const ondeloc_cell& cell) {
  sum.bytes += cell.bytes;
  sum.messages += cell.messages;
}

}  // namespace

void Counters::raise_sent(int from, int to, const ondeloc_cell& seen) {
  if (raise(totals_[index(from, to)].now, seen)) mark(from, to);
}

void Counters::raise_fetched(int fetcher, int source, const ondeloc_cell& seen) {
  if (fetched_.empty()) fetched_.resize(totals_.size());
  if (!raise(fetched_[index(fetcher, source)], seen)) return;
  if (source < ranks_)
    mark(source, fetcher);
  else
    mark(fetcher, ranks_);
}

void Counters::read_rows(const SegmentView& view) {
  for (int i = 0; i < ranks_; ++i) {
    view.each_cell(i, false, [&](int j, const ondeloc_cell& seen) { raise_sent(i, j, seen); });
    if (!view.fetches(i)) continue;
    view.each_cell(i, true, [&](int j, const ondeloc_cell& seen) { raise_fetched(i, j, seen); });
  }
}

ondeloc_cell Counters::OffNode::total() const {
  ondeloc_cell sum = rest;
  for (const auto& [peer, cell] : by_peer) add_cell(sum, cell);
  return sum;
}

void Counters::add_off_node_event(int rank, const SegmentView& view,
                                  const ondeloc_row_entry& entry) {
  if (told_.empty()) told_.resize(static_cast<std::size_t>(ranks_));
  OffNodeOfRank& of_rank = told_[static_cast<std::size_t>(rank)];
  OffNode& told = entry.fetched != 0 ? of_rank.fetched : of_rank.sent;
  if (entry.peer == ONDELOC_ROW_OFF_NODE) {
    raise(told.rest, entry.total);
  } else {
    if (entry.peer >= view.header().world_ranks) return;
    // A rank has no more cells than that.
    if (told.by_peer.size() >= view.header().peer_cells && !told.by_peer.contains(entry.peer))
      return;
    raise(told.by_peer[entry.peer], entry.total);
  }
  if (entry.fetched != 0)
    raise_fetched(rank, ranks_, told.total());
  else
    raise_sent(rank, ranks_, told.total());
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
  ondeloc_cell sum{};
  for (int j = 0; j <= ranks_; ++j) {
    if (j == rank) continue;
    add_cell(sum, totals_[index(rank, j)].now);
    if (!fetched_.empty()) add_cell(sum, fetched_[index(rank, j)]);
  }
  return sum;
}

inline Counters::Growth Counters::growth(int from, int to) const {
  const auto grown = [](std::uint64_t now, std::uint64_t last) {
    return now > last ? static_cast<double>(now - last) : 0.0;
  };
  const ondeloc_cell total = now(from, to);
  const ondeloc_cell& last = totals_[index(from, to)].last;
  return {grown(total.bytes, last.bytes), grown(total.messages, last.messages)};
}

inline void Counters::settle(int from, int to) { totals_[index(from, to)].last = now(from, to); }

// Each pair is taken twice, with the larger rank in the end.
inline Counters::Growth Counters::take_pair(int rank, int peer) {
  const Growth sent = growth(rank, peer), received = growth(peer, rank);
  if (peer < rank) {
    if (sent.any()) settle(rank, peer);
    if (received.any()) settle(peer, rank);
  }
  return {sent.bytes + received.bytes, sent.messages + received.messages};
}

void Counters::take_off_node(int rank) {
  const Growth off_node = growth(rank, ranks_);
  if (!off_node.any()) return;
  settle(rank, ranks_);
  delta_.off_node[static_cast<std::size_t>(rank)] = off_node.bytes;
  delta_.off_node_messages += off_node.messages;
}

// The rows of the traffic are made here without a matrix between: where all ranks talk to all, the
// mapper spends a good part of an interval here.
void Counters::take_row(int rank) {
  std::size_t length = 0;
  for (std::size_t word = 0; word < row_words_; ++word)
    for (std::uint64_t left = std::exchange(raised_[first_word(rank) + word], 0); left != 0;
         left &= left - 1) {
      const int peer = static_cast<int>(64 * word) + std::countr_zero(left);
      if (peer == ranks_) take_off_node(rank);
      if (peer == ranks_ || peer == rank) continue;
      const Growth both = take_pair(rank, peer);
      if (!both.any()) continue;
      row_[length] = {peer, both.bytes};
      row_messages_[length++] = both.messages;
    }
  delta_.traffic.append(std::span(row_).first(length), std::span(row_messages_).first(length));
}

const CounterDelta& Counters::take_delta() {
  std::size_t raised = 0;
  for (const std::uint64_t word : raised_) raised += static_cast<std::size_t>(std::popcount(word));
  const auto n = static_cast<std::size_t>(ranks_);
  delta_.traffic.restart(n, raised);
  delta_.off_node.assign(n, 0);
  delta_.off_node_messages = 0;
  for (int rank = 0; rank < ranks_; ++rank) take_row(rank);
  return delta_;
}

}  // namespace ondeloc
