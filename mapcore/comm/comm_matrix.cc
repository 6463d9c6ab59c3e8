// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/comm_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
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

namespace {

// The cells that each rank receives, row after row, in the order of the senders: indices in the
// matrix, which take a sixth of the memory of the cells. end[i]: of row i.
struct ReceivedRows {
  std::unique_ptr<std::uint32_t[]> cells;
  std::vector<std::size_t> end;
};

// Returns nothing if the cells of the matrix are not in order.
std::optional<ReceivedRows> received_rows(const CommMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.ranks);
  ReceivedRows rows{std::make_unique_for_overwrite<std::uint32_t[]>(matrix.entries.size()),
                    std::vector<std::size_t>(n + 1)};
  bool is_sorted = true;
  const MatrixEntry* before = nullptr;
  for (const MatrixEntry& cell : matrix.entries) {
    ++rows.end[static_cast<std::size_t>(cell.dst) + 1];
    if (before != nullptr) is_sorted &= in_order(*before, cell);
    before = &cell;
  }
  if (!is_sorted) return std::nullopt;
  for (std::size_t i = 0; i < n; ++i) rows.end[i + 1] += rows.end[i];
  for (std::uint32_t at = 0; at < matrix.entries.size(); ++at)
    rows.cells[rows.end[static_cast<std::size_t>(matrix.entries[at].dst)]++] = at;
  return rows;
}

}  // namespace

// The cells that a rank sends stand together, too. So two ascending rows are merged into one
// without sorting.
Traffic::Traffic(const CommMatrix& matrix) {
  const auto rows = received_rows(matrix);
  if (!rows) {
    *this = Traffic(CommMatrix::from_entries(matrix.ranks, matrix.entries));
    return;
  }
  const auto n = static_cast<std::size_t>(matrix.ranks);
  restart(n, 2 * matrix.entries.size());
  auto sent = matrix.entries.begin();
  const std::uint32_t* from = rows->cells.get();
  std::vector<Edge> row(n);
  std::vector<double> row_messages(n);
  std::size_t length = 0;
  const auto add = [&](int peer, double bytes, double messages) {
    if (bytes <= 0 && messages <= 0) return;
    row[length] = {peer, bytes};
    row_messages[length++] = messages;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t* const to = rows->cells.get() + rows->end[i];
    const auto add_received = [&] {
      const MatrixEntry& cell = matrix.entries[*from++];
      add(cell.src, cell.bytes, cell.messages);
    };
    for (; sent != matrix.entries.end() && static_cast<std::size_t>(sent->src) == i; ++sent) {
      while (from != to && matrix.entries[*from].src < sent->dst) add_received();
      MatrixEntry back;
      if (from != to && matrix.entries[*from].src == sent->dst) back = matrix.entries[*from++];
      add(sent->dst, sent->bytes + back.bytes, sent->messages + back.messages);
    }
    while (from != to) add_received();
    append(std::span(row).first(length), std::span(row_messages).first(length));
    length = 0;
  }
}

void Traffic::restart(std::size_t ranks, std::size_t edges) {
  begin_.resize(1);
  above_.clear();
  edges_.clear();
  messages_.clear();
  strength_.clear();
  total_ = total_messages_ = squares_ = 0;
  has_empty_edges_ = false;
  begin_.reserve(ranks + 1);
  above_.reserve(ranks);
  strength_.reserve(ranks);
  edges_.reserve(edges);
  messages_.reserve(edges);
}

// Adds up in registers: where all ranks talk to all, the mapper spends a good part of an interval
// here.
void Traffic::append(std::span<const Edge> row, std::span<const double> messages) {
  const auto rank = static_cast<int>(strength_.size());
  double strength = 0, squares = 0, above = 0, messages_above = 0;
  std::size_t below = 0;
  for (std::size_t e = 0; e < row.size(); ++e) {
    const bool is_above = row[e].peer > rank;
    below += is_above ? 0 : 1;
    strength += row[e].bytes;
    squares += row[e].bytes * row[e].bytes;
    above += is_above ? row[e].bytes : 0;
    messages_above += is_above ? messages[e] : 0;
    has_empty_edges_ |= row[e].bytes <= 0;
  }
  above_.push_back(edges_.size() + below);
  edges_.insert(edges_.end(), row.begin(), row.end());
  messages_.insert(messages_.end(), messages.begin(), messages.end());
  begin_.push_back(edges_.size());
  strength_.push_back(strength);
  squares_ += squares;
  total_ += above;
  total_messages_ += messages_above;
}

Traffic Traffic::weighed(double byte_weight, double message_bytes) const {
  Traffic out;
  out.restart(strength_.size(), edges_.size());
  const std::vector<double> no_messages(strength_.size());
  std::vector<Edge> row;
  for (int i = 0; i < ranks(); ++i) {
    row.clear();
    const auto row_messages = messages(i);
    for (std::size_t e = 0; e < row_messages.size(); ++e) {
      const Edge& edge = edges(i)[e];
      const double amount = byte_weight * edge.bytes + message_bytes * row_messages[e];
      if (amount > 0) row.push_back({edge.peer, amount});
    }
    out.append(row, std::span(no_messages).first(row.size()));
  }
  return out;
}

namespace {

double dot(const Traffic& a, const Traffic& b) {
  double sum = 0;
  for (int i = 0; i < std::min(a.ranks(), b.ranks()); ++i) {
    const auto right = b.edges_above(i);
    auto at = right.begin();
    for (const Traffic::Edge& edge : a.edges_above(i)) {
      while (at != right.end() && at->peer < edge.peer) ++at;
      if (at != right.end() && at->peer == edge.peer) sum += edge.bytes * at->bytes;
    }
  }
  return 2 * sum;  // both directions
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
      : edges_(traffic.edges_above(rank)),
        messages_(traffic.messages_above(rank)),
        per_byte_(traffic.total() > 0 ? 1 / traffic.total() : 0),
        per_message_(traffic.total_messages() > 0 ? 1 / traffic.total_messages() : 0) {}
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
