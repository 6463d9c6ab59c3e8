// SPDX-License-Identifier: Apache-2.0
// Clock, samples and pinning for measurements. Thread safety: each object for one thread.
#pragma once

#include <ctime>
#include <optional>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

double now_seconds();  // CLOCK_MONOTONIC
// Threads that ran or were ready, in the mean over the last minute; nothing if the kernel does not
// tell.
std::optional<double> load_of_last_minute();

class Deadline {
 public:
  explicit Deadline(double seconds) : end_(now_seconds() + seconds) {}
  bool is_over() const { return now_seconds() >= end_; }

 private:
  double end_;
};

class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }
  double median() const;  // 0 without samples
  double spread() const;  // (third quartile - first quartile) / median
  // There are enough samples, and the median of the last half is that of all within 3 %.
  bool are_stable() const;

 private:
  std::vector<double> values_;
};

// The calling thread runs on this CPU as long as the object lives; then where it could before.
class PinnedHere {
 public:
  explicit PinnedHere(PuOs cpu);
  ~PinnedHere();
  PinnedHere(const PinnedHere&) = delete;
  PinnedHere& operator=(const PinnedHere&) = delete;
  bool is_good() const { return is_good_; }

 private:
  std::vector<unsigned long> before_;
  bool is_good_ = false;
};

}  // namespace ondeloc
