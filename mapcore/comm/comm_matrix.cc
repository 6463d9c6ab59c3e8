// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/comm_matrix.h"

#include <algorithm>
#include <cstdint>
#include <limits>
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

namespace {

// Sums over edges of one rank.
struct EdgeSums {
  double bytes = 0, squares = 0, messages = 0, least = std::numeric_limits<double>::infinity();
};

// Adds up in registers: where all ranks talk to all, the mapper spends a good part of an interval
// here.
EdgeSums add_up(std::span<const Traffic::Edge> edges, std::span<const double> messages) {
  EdgeSums sums;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const double bytes = edges[e].bytes;
    sums.bytes += bytes;
    sums.squares += bytes * bytes;
    sums.messages += messages[e];
    sums.least = std::min(sums.least, bytes);
  }
  return sums;
}

}  // namespace

void Traffic::append(std::span<const Edge> row, std::span<const double> messages) {
  const auto rank = static_cast<int>(strength_.size());
  const auto is_below = [rank](const Edge& edge) { return edge.peer < rank; };
  const auto split = static_cast<std::size_t>(
      std::partition_point(row.begin(), row.end(), is_below) - row.begin());
  const EdgeSums below = add_up(row.first(split), messages.first(split));
  const EdgeSums above = add_up(row.subspan(split), messages.subspan(split));
  above_.push_back(edges_.size() + split);
  edges_.insert(edges_.end(), row.begin(), row.end());
  messages_.insert(messages_.end(), messages.begin(), messages.end());
  begin_.push_back(edges_.size());
  strength_.push_back(below.bytes + above.bytes);
  squares_ += below.squares + above.squares;
  total_ += above.bytes;
  total_messages_ += above.messages;
  has_empty_edges_ |= std::min(below.least, above.least) <= 0;
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

}  // namespace ondeloc
