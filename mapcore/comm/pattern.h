// SPDX-License-Identifier: Apache-2.0
// The pattern of a traffic, kept for comparisons with other traffic. In single precision, each pair
// once, it takes a quarter of the memory of the traffic: where all ranks talk to all, the mapper
// compares thousands of pairs in each interval. Thread safety: values.
#pragma once

#include <cstddef>
#include <vector>

#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

class Pattern {
 public:
  Pattern() = default;
  explicit Pattern(const Traffic& traffic) { keep(traffic); }

  // Keeps this traffic in place of the former one, in the same memory.
  void keep(const Traffic& traffic);
  double total() const { return total_; }  // bytes, sum over unordered pairs

  // Cosine of the bytes of two traffic matrices as vectors, 1 when both are empty, 0 when one is.
  double cosine(const Traffic& traffic) const;

  // The share of the bytes, or of the messages if that is larger, that one matrix has between other
  // pairs than the other, each matrix scaled to a sum of 1: half the sum of the absolute
  // differences. From 0, in proportion, to 1, no pair in common. 1 if only one of them has bytes or
  // messages, or if they differ in their number of ranks.
  double difference(const Traffic& traffic) const;

 private:
  int ranks() const { return static_cast<int>(end_.size()); }
  // Calls visit(index of the pair here or -1, edge of the traffic or -1) for each pair of a rank
  // with a larger one that either of the two has.
  template <class Visit>
  void each_pair(int rank, const Traffic& traffic, Visit visit) const;

  // Pairs in the order of the smaller rank, then of the larger one; end_[i]: of those of rank i.
  std::vector<std::size_t> end_;
  std::vector<int> larger_;
  std::vector<float> bytes_, messages_;
  double total_ = 0, total_messages_ = 0, squares_ = 0;
};

}  // namespace ondeloc
