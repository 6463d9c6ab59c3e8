// SPDX-License-Identifier: Apache-2.0
// Who sent how much to whom. A[i][j] = bytes sent from rank i to rank j, sparse, in double (2^53
// bytes are exact). The diagonal (self-sends) is never kept. Thread safety: values.
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
  // From a list of pairs: ranks that talk to nobody may not be mentioned, so there may be more.
  bool may_have_more = false;

  // Sorts, adds up repeated pairs, drops the diagonal and zeros. REQUIRES: 0 <= src, dst < ranks.
  static CommMatrix from_entries(int ranks, std::vector<MatrixEntry> entries);
  double total_bytes() const;
  // The same traffic among at least this many ranks.
  CommMatrix with_ranks(int least) const;
  // What some ranks (ascending) send each other, these numbered from 0 in that order; and the bytes
  // that each of them sends to others.
  CommMatrix among(std::span<const int> some) const;
  std::vector<double> sent_beyond(std::span<const int> some) const;
};

// Symmetric traffic S = A + A^T in compressed rows: what every algorithm reads.
class Traffic {
 public:
  struct Edge {
    int peer;
    double bytes;  // S[i][peer] > 0
  };
  Traffic() = default;
  explicit Traffic(const CommMatrix& matrix);

  int ranks() const { return static_cast<int>(strength_.size()); }
  std::span<const Edge> edges(int rank) const {  // ascending peer
    const auto i = static_cast<std::size_t>(rank);
    return std::span(edges_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
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
  void add(std::size_t rank, const Edge& edge);

  std::vector<std::size_t> begin_{0};
  std::vector<Edge> edges_;
  std::vector<double> strength_;
  double total_ = 0;
};

// Cosine of two traffic matrices as vectors, 1 when both are empty, 0 when one is.
double cosine(const Traffic& a, const Traffic& b);

}  // namespace ondeloc
