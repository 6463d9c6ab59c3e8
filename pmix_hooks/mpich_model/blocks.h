// SPDX-License-Identifier: Apache-2.0
// One count for each rank of a group, as the arrays of a caller have them.
#pragma once

#include <cstdint>

namespace ondeloc::mpich_model {

class Blocks {
 public:
  // All have the same count.
  explicit Blocks(std::uint64_t count) : same_(count) {}
  // `large`: elements of 64 bits, else of 32.
  Blocks(const void* counts, bool large) : counts_(counts), large_(large) {}

  std::uint64_t operator[](int rank) const {
    if (counts_ == nullptr) return same_;
    if (large_) return static_cast<const std::uint64_t*>(counts_)[rank];
    return static_cast<std::uint64_t>(static_cast<const std::int32_t*>(counts_)[rank]);
  }
  // The sum of the ranks [first, last).
  std::uint64_t sum(int first, int last) const {
    if (last <= first) return 0;
    if (counts_ == nullptr) return same_ * static_cast<std::uint64_t>(last - first);
    std::uint64_t total = 0;
    for (int rank = first; rank < last; ++rank) total += (*this)[rank];
    return total;
  }
  // The sum of `many` ranks from `first` on, in a ring of `size`.
  std::uint64_t sum_around(int first, int many, int size) const {
    if (first + many <= size) return sum(first, first + many);
    return sum(first, size) + sum(0, first + many - size);
  }
  bool are_given() const { return counts_ != nullptr; }  // as an array
  bool are_equal(int size) const {
    for (int rank = 1; counts_ != nullptr && rank < size; ++rank)
      if ((*this)[rank] != (*this)[0]) return false;
    return true;
  }

 private:
  const void* counts_ = nullptr;
  bool large_ = false;
  std::uint64_t same_ = 0;
};

}  // namespace ondeloc::mpich_model
