// SPDX-License-Identifier: Apache-2.0
// Adds up messages per ordered pair of ranks. Dense n x n cells (row = sender, 16 bytes each) up to
// kDenseRanks ranks, a hash table of the pairs that talk beyond, so that 10 million events take
// well under a second. Self-sends are left out. Thread safety: a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/profile/event.h"

namespace ondeloc {

class PairSum {
 public:
  static constexpr int kDenseRanks = 1024;

  // Pass less than kDenseRanks if clear() and matrix() are called often.
  explicit PairSum(int ranks, int dense_ranks = kDenseRanks);
  void add(std::uint32_t src, std::uint32_t dst, std::uint64_t bytes, std::uint64_t messages = 1) {
    if (src == dst) return;
    Cell& cell = dense_.empty() ? sparse_[key(src, dst)] : dense_[key(src, dst)];
    cell.bytes += bytes;
    cell.messages += messages;
  }
  void add(const ProfileEvent& event) { add(event.src, event.dst, event.bytes); }
  // At least these.
  void raise(std::uint32_t src, std::uint32_t dst, std::uint64_t bytes, std::uint64_t messages) {
    if (src == dst) return;
    Cell& cell = dense_.empty() ? sparse_[key(src, dst)] : dense_[key(src, dst)];
    cell.bytes = std::max(cell.bytes, bytes);
    cell.messages = std::max(cell.messages, messages);
  }
  CommMatrix matrix() const;
  void clear();

 private:
  struct Cell {
    std::uint64_t bytes = 0, messages = 0;
  };
  std::uint64_t key(std::uint32_t src, std::uint32_t dst) const {
    return static_cast<std::uint64_t>(src) * ranks_ + dst;
  }
  std::uint64_t ranks_;
  std::vector<Cell> dense_;
  std::unordered_map<std::uint64_t, Cell> sparse_;
};

}  // namespace ondeloc
