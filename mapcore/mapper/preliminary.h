// SPDX-License-Identifier: Apache-2.0
// When a report is written while the step still runs. Where Slurm ends a step by killing all that
// belongs to it, the mapper too (MPI_Abort, a rank that crashed, a time limit), nobody can write
// one at the end: what stands there then is the last preliminary one. Thread safety: none.
#pragma once

#include <algorithm>
#include <chrono>

namespace ondeloc {

class PreliminaryReports {
 public:
  using Seconds = std::chrono::duration<double>;

  // After 2 s, 4 s, 8 s and so on, then every ten minutes, and less often where writing takes
  // longer than a thousandth of that.
  bool is_due(Seconds since_start) const { return wanted_ && since_start >= due_; }
  void written(Seconds since_start, Seconds took) {
    due_ = since_start + std::max(std::min(since_start, kLongest), 1000 * took);
  }
  // What failed once would fail again: it is told at the end.
  void give_up() { wanted_ = false; }

 private:
  static constexpr Seconds kFirst{2}, kLongest{600};
  Seconds due_ = kFirst;
  bool wanted_ = true;
};

}  // namespace ondeloc
