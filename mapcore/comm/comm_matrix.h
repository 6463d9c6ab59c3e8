// SPDX-License-Identifier: Apache-2.0
// The communication matrix: A[i][j] = bytes that rank i sent to rank j. Sparse, in double (exact up
// to 2^53 bytes). The diagonal (self-sends) is never kept. Thread safety: values.
#pragma once

#include <span>
#include <vector>

namespace ondeloc {

struct MatrixEntry {
  int src = 0;
  int dst = 0;
  double bytes = 0;     // >= 0, finite
  double messages = 0;  // 0 where unknown
};

// Entries sorted by (src, dst), each pair once, src != dst.
struct CommMatrix {
  int ranks = 0;
  std::vector<MatrixEntry> entries;
  // The matrix was read from a list of pairs. The list need not mention ranks without traffic, so
  // there may be more ranks.
  bool may_have_more = false;

  // Sorts, adds up repeated pairs, drops the diagonal and zeros. REQUIRES: 0 <= src, dst < ranks.
  static CommMatrix from_entries(int ranks, std::vector<MatrixEntry> entries);
  double total_bytes() const;
  // Returns the same traffic among at least this many ranks.
  CommMatrix with_ranks(int least) const;
  // among() returns the traffic between these ranks (ascending), numbered from 0 in that order.
  // sent_beyond() returns the bytes that each of them sends to other ranks.
  CommMatrix among(std::span<const int> some) const;
  std::vector<double> sent_beyond(std::span<const int> some) const;
};

// Symmetric traffic S = A + A^T in compressed rows: what every algorithm reads. A pair with
// messages of 0 bytes only is an edge, too.
class Traffic {
 public:
  struct Edge {
    int peer = 0;
    double bytes = 0;  // S[i][peer] >= 0
  };
  Traffic() = default;
  explicit Traffic(const CommMatrix& matrix);

  // For a caller that has the rows of S themselves: restart() drops all rows and keeps their
  // memory, append() adds the row of the next rank, with ascending peers and the messages of each
  // edge. Both rows of a pair have to be appended. `edges`: so many at most, both directions.
  void restart(std::size_t ranks, std::size_t edges);
  void append(std::span<const Edge> row, std::span<const double> messages);

  int ranks() const { return static_cast<int>(strength_.size()); }
  std::span<const Edge> edges(int rank) const {  // ascending peer
    const auto i = static_cast<std::size_t>(rank);
    return std::span(edges_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  std::span<const Edge> edges_above(int rank) const {  // with larger peers: the end of edges(rank)
    const auto i = static_cast<std::size_t>(rank);
    return std::span(edges_).subspan(above_[i], begin_[i + 1] - above_[i]);
  }
  // The messages of each edge of edges(rank), both directions; 0 where unknown.
  std::span<const double> messages(int rank) const {
    const auto i = static_cast<std::size_t>(rank);
    return std::span(messages_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  std::span<const double> messages_above(int rank) const {  // of each edge of edges_above(rank)
    const auto i = static_cast<std::size_t>(rank);
    return std::span(messages_).subspan(above_[i], begin_[i + 1] - above_[i]);
  }
  std::span<const double> all_messages() const { return messages_; }
  double total_messages() const { return total_messages_; }  // sum over unordered pairs
  bool has_empty_edges() const { return has_empty_edges_; }  // an edge of 0 bytes
  double squares() const { return squares_; }  // sum over all edges, both directions, of bytes^2
  // The same pairs with `message_bytes` more for every message and `byte_weight` for each byte;
  // pairs of which nothing is left are dropped. No messages.
  Traffic weighed(double byte_weight, double message_bytes) const;
  double strength(int rank) const {
    return strength_[static_cast<std::size_t>(rank)];
  }  // sum_j S[rank][j]
  double total() const {
    return total_;
  }  // sum over unordered pairs = bytes between different ranks
  // The rows one after another: row i is all_edges()[row_begins()[i]] to [row_begins()[i + 1] - 1].
  std::span<const std::size_t> row_begins() const { return begin_; }
  std::span<const Edge> all_edges() const { return edges_; }
  std::size_t pairs() const { return edges_.size() / 2; }

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<std::size_t> above_;  // of each row: the first edge with a larger peer
  std::vector<Edge> edges_;
  std::vector<double> messages_;  // of each edge
  std::vector<double> strength_;
  double total_ = 0, total_messages_ = 0, squares_ = 0;
  bool has_empty_edges_ = false;
};

}  // namespace ondeloc
