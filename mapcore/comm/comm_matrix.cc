// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/comm_matrix.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ondeloc {

CommMatrix CommMatrix::from_entries(int ranks, std::vector<MatrixEntry> entries) {
  const auto in_order = [](const MatrixEntry& a, const MatrixEntry& b) {
    return std::tie(a.src, a.dst) < std::tie(b.src, b.dst);
  };
  // The rows of a file are in order, and there may be millions of cells: neither sorted again nor
  // copied.
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

Traffic::Traffic(const CommMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.ranks);
  // Both directions as a list, counted into buckets by row: linear in the non-zeros but for the row
  // sorts.
  begin_.assign(n + 1, 0);
  for (const MatrixEntry& e : matrix.entries) {
    if (e.bytes <= 0) continue;
    ++begin_[static_cast<std::size_t>(e.src) + 1];
    ++begin_[static_cast<std::size_t>(e.dst) + 1];
  }
  for (std::size_t i = 0; i < n; ++i) begin_[i + 1] += begin_[i];
  edges_.resize(begin_[n]);
  std::vector<std::size_t> fill(begin_.begin(), begin_.end() - 1);
  for (const MatrixEntry& e : matrix.entries) {
    if (e.bytes <= 0) continue;
    edges_[fill[static_cast<std::size_t>(e.src)]++] = {e.dst, e.bytes};
    edges_[fill[static_cast<std::size_t>(e.dst)]++] = {e.src, e.bytes};
  }
  strength_.assign(n, 0);
  std::size_t out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = begin_[i], to = begin_[i + 1];
    std::sort(edges_.begin() + static_cast<std::ptrdiff_t>(from),
              edges_.begin() + static_cast<std::ptrdiff_t>(to),
              [](const Edge& a, const Edge& b) { return a.peer < b.peer; });
    begin_[i] = out;
    for (std::size_t e = from; e < to; ++e) {
      strength_[i] += edges_[e].bytes;
      if (static_cast<std::size_t>(edges_[e].peer) > i) total_ += edges_[e].bytes;
      if (out > begin_[i] && edges_[out - 1].peer == edges_[e].peer) {
        edges_[out - 1].bytes += edges_[e].bytes;
      } else {
        edges_[out++] = edges_[e];
      }
    }
  }
  begin_[n] = out;
  edges_.resize(out);
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
  return dot(a, b) / (std::sqrt(dot(a, a)) * std::sqrt(dot(b, b)));
}

}  // namespace ondeloc
