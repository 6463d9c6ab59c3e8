// SPDX-License-Identifier: Apache-2.0
// Decides when a report is written while the step still runs. If Slurm kills all processes of the
// step, the mapper included (MPI_Abort, a rank that crashed, a time limit), no report can be
// written at the end, and the last preliminary report remains. Thread safety: none.
#pragma once

#include <algorithm>
#include <chrono>

#include "mapcore/mapper/pauses.h"

namespace ondeloc {

class PreliminaryReports {
 public:
  using Seconds = std::chrono::duration<double>;

  // After 2 s, 4 s, 8 s and so on, then every ten minutes, and less often if writing takes long
  // (pauses.h).
  bool is_due(Seconds since_start) const { return wanted_ && since_start >= due_; }
  void written(Seconds since_start, Seconds took) {
    due_ = since_start + std::max(std::min(since_start, kLongest), kPauses * took);
  }
  // A report that could not be written once would fail again: the user is told at the end.
  void give_up() { wanted_ = false; }

 private:
  static constexpr Seconds kFirst{2}, kLongest{600};
  Seconds due_ = kFirst;
  bool wanted_ = true;
};

}  // namespace ondeloc
