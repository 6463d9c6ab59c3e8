// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/comm_matrix.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ondeloc {
namespace {

bool in_order(const MatrixEntry& a, const MatrixEntry& b) {
  return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
}

}  // namespace

CommMatrix CommMatrix::from_entries(int ranks, std::vector<MatrixEntry> entries) {
  // The rows of a file are in order and may hold millions of cells, so they are neither sorted nor
  // copied again.
  if (!std::is_sorted(entries.begin(), entries.end(), in_order))
    std::sort(entries.begin(), entries.end(), in_order);
  std::size_t out = 0;
  for (const MatrixEntry entry : entries) {
    if (entry.src == entry.dst || (entry.bytes == 0 && entry.messages == 0)) continue;
    if (out > 0 && entries[out - 1].src == entry.src && entries[out - 1].dst == entry.dst) {
      entries[out - 1].bytes += entry.bytes;
      entries[out - 1].messages += entry.messages;
    } else {
      entries[out++] = entry;
    }
  }
  entries.resize(out);
  CommMatrix matrix;
  matrix.ranks = ranks;
  matrix.entries = std::move(entries);
  return matrix;
}

double CommMatrix::total_bytes() const {
  double total = 0;
  for (const MatrixEntry& entry : entries) total += entry.bytes;
  return total;
}

CommMatrix CommMatrix::with_ranks(int least) const {
  CommMatrix matrix = *this;
  matrix.ranks = std::max(ranks, least);
  return matrix;
}

namespace {

// Returns -1 if the rank is not among them.
int place_in(std::span<const int> some, int rank) {
  const auto at = std::lower_bound(some.begin(), some.end(), rank);
  return at != some.end() && *at == rank ? static_cast<int>(at - some.begin()) : -1;
}

}  // namespace

CommMatrix CommMatrix::among(std::span<const int> some) const {
  std::vector<MatrixEntry> kept;
  for (const MatrixEntry& entry : entries) {
    const int src = place_in(some, entry.src), dst = place_in(some, entry.dst);
    if (src >= 0 && dst >= 0) kept.push_back({src, dst, entry.bytes, entry.messages});
  }
  return from_entries(static_cast<int>(some.size()), std::move(kept));
}

std::vector<double> CommMatrix::sent_beyond(std::span<const int> some) const {
  std::vector<double> bytes(some.size(), 0);
  for (const MatrixEntry& entry : entries) {
    const int src = place_in(some, entry.src);
    if (src >= 0 && place_in(some, entry.dst) < 0)
      bytes[static_cast<std::size_t>(src)] += entry.bytes;
  }
  return bytes;
}

// The cells that a rank sends stand together, and the cells that it receives come in the order of
// the senders. So two ascending rows are merged into one without sorting.
Traffic::Traffic(const CommMatrix& matrix) {
  if (!std::is_sorted(matrix.entries.begin(), matrix.entries.end(), in_order)) {
    *this = Traffic(CommMatrix::from_entries(matrix.ranks, matrix.entries));
    return;
  }
  const auto n = static_cast<std::size_t>(matrix.ranks);
  std::vector<std::size_t> end(n + 1, 0);  // of what each receives
  for (const MatrixEntry& cell : matrix.entries) ++end[static_cast<std::size_t>(cell.dst) + 1];
  for (std::size_t i = 0; i < n; ++i) end[i + 1] += end[i];
  struct Received {
    int peer;
    Part part;
  };
  std::vector<Received> received(matrix.entries.size());
  for (const MatrixEntry& cell : matrix.entries)
    received[end[static_cast<std::size_t>(cell.dst)]++] = {cell.src, {cell.bytes, cell.messages}};
  edges_.reserve(2 * matrix.entries.size());
  messages_.reserve(2 * matrix.entries.size());
  begin_.reserve(n + 1);
  strength_.reserve(n);
  auto sent = matrix.entries.begin();
  auto from = received.begin();
  for (std::size_t i = 0; i < n; ++i) {
    const auto to = received.begin() + static_cast<std::ptrdiff_t>(end[i]);
    Sums sums;
    for (; sent != matrix.entries.end() && static_cast<std::size_t>(sent->src) == i; ++sent) {
      for (; from != to && from->peer < sent->dst; ++from) add(i, from->peer, from->part, {}, sums);
      const bool both = from != to && from->peer == sent->dst;
      add(i, sent->dst, {sent->bytes, sent->messages}, both ? from++->part : Part{}, sums);
    }
    for (; from != to; ++from) add(i, from->peer, from->part, {}, sums);
    begin_.push_back(edges_.size());
    strength_.push_back(sums.strength);
    squares_ += sums.squares;
    total_ += sums.above.bytes, total_messages_ += sums.above.messages;
  }
}

// REQUIRES: the row of `rank` is the last so far, and its peers are smaller.
inline void Traffic::add(std::size_t rank, int peer, const Part& sent, const Part& received,
                         Sums& sums) {
  const double bytes = sent.bytes + received.bytes, messages = sent.messages + received.messages;
  if (bytes <= 0 && messages <= 0) return;
  sums.strength += bytes;
  sums.squares += bytes * bytes;
  if (static_cast<std::size_t>(peer) > rank) {
    sums.above.bytes += bytes;
    sums.above.messages += messages;
  }
  if (bytes <= 0) has_empty_edges_ = true;
  edges_.push_back({peer, bytes});
  messages_.push_back(messages);
}

Traffic Traffic::weighed(double byte_weight, double message_bytes) const {
  Traffic out;
  out.begin_.reserve(begin_.size());
  out.edges_.reserve(edges_.size());
  out.strength_.assign(strength_.size(), 0);
  for (std::size_t i = 0; i < strength_.size(); ++i) {
    for (std::size_t e = begin_[i]; e < begin_[i + 1]; ++e) {
      const double amount = byte_weight * edges_[e].bytes + message_bytes * messages_[e];
      if (amount <= 0) continue;
      out.edges_.push_back({edges_[e].peer, amount});
      out.strength_[i] += amount;
      out.squares_ += amount * amount;
      if (static_cast<std::size_t>(edges_[e].peer) > i) out.total_ += amount;
    }
    out.begin_.push_back(out.edges_.size());
  }
  out.messages_.assign(out.edges_.size(), 0);
  return out;
}

namespace {

double dot(const Traffic& a, const Traffic& b) {
  double sum = 0;
  for (int i = 0; i < std::min(a.ranks(), b.ranks()); ++i) {
    const auto right = b.edges(i);
    auto at = right.begin();
    for (const Traffic::Edge& edge : a.edges(i)) {
      while (at != right.end() && at->peer < edge.peer) ++at;
      if (at != right.end() && at->peer == edge.peer) sum += edge.bytes * at->bytes;
    }
  }
  return sum;
}

}  // namespace

double cosine(const Traffic& a, const Traffic& b) {
  if (a.total() == 0 && b.total() == 0) return 1;
  if (a.total() == 0 || b.total() == 0) return 0;
  return dot(a, b) / (std::sqrt(a.squares()) * std::sqrt(b.squares()));
}

namespace {

// Shares of all bytes and of all messages.
struct Shares {
  double bytes = 0, messages = 0;
};

// The pairs of a rank with all larger ranks, in their order, as shares.
class PairsOf {
 public:
  PairsOf(const Traffic& traffic, int rank)
      : edges_(traffic.edges(rank)),
        messages_(traffic.messages(rank)),
        per_byte_(traffic.total() > 0 ? 1 / traffic.total() : 0),
        per_message_(traffic.total_messages() > 0 ? 1 / traffic.total_messages() : 0) {
    while (!at_end() && peer() < rank) ++at_;
  }
  bool at_end() const { return at_ == edges_.size(); }
  int peer() const { return edges_[at_].peer; }
  Shares next() {
    const Shares shares{edges_[at_].bytes * per_byte_, messages_[at_] * per_message_};
    ++at_;
    return shares;
  }

 private:
  std::span<const Traffic::Edge> edges_;
  std::span<const double> messages_;
  double per_byte_, per_message_;
  std::size_t at_ = 0;
};

// Adds up what the shares of a rank's pairs differ by.
void add_differences(PairsOf a, PairsOf b, Shares& sum) {
  while (!a.at_end() || !b.at_end()) {
    const bool takes_a = !a.at_end() && (b.at_end() || a.peer() <= b.peer());
    const bool takes_b = !b.at_end() && (a.at_end() || b.peer() <= a.peer());
    const Shares of_a = takes_a ? a.next() : Shares(), of_b = takes_b ? b.next() : Shares();
    sum.bytes += std::abs(of_a.bytes - of_b.bytes);
    sum.messages += std::abs(of_a.messages - of_b.messages);
  }
}

}  // namespace

double difference(const Traffic& a, const Traffic& b) {
  const auto both = [](double x, double y) { return (x > 0) == (y > 0); };
  if (a.ranks() != b.ranks() || !both(a.total(), b.total()) ||
      !both(a.total_messages(), b.total_messages()))
    return 1;
  Shares sum;
  for (int rank = 0; rank < a.ranks(); ++rank)
    add_differences(PairsOf(a, rank), PairsOf(b, rank), sum);
  return std::max(sum.bytes, sum.messages) / 2;
}

}  // namespace ondeloc
