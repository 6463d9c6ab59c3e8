// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/pair_sum.h"

#include <algorithm>

namespace ondeloc {

PairSum::PairSum(int ranks, int dense_ranks) : ranks_(static_cast<std::uint64_t>(ranks)) {
  if (ranks <= dense_ranks) dense_.resize(ranks_ * ranks_);
}

CommMatrix PairSum::matrix() const {
  std::vector<MatrixEntry> entries;
  auto take = [&](std::uint64_t pair, const Cell& cell) {
    if (cell.messages == 0 && cell.bytes == 0) return;
    entries.push_back({static_cast<int>(pair / ranks_), static_cast<int>(pair % ranks_),
                       static_cast<double>(cell.bytes), static_cast<double>(cell.messages)});
  };
  for (std::uint64_t pair = 0; pair < dense_.size(); ++pair) take(pair, dense_[pair]);
  for (const auto& [pair, cell] : sparse_) take(pair, cell);
  return CommMatrix::from_entries(static_cast<int>(ranks_), std::move(entries));
}

void PairSum::clear() {
  std::fill(dense_.begin(), dense_.end(), Cell{});
  sparse_.clear();
}

}  // namespace ondeloc
