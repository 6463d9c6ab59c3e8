// SPDX-License-Identifier: Apache-2.0
// The intervals that a report holds. Their number is limited, so that a job of weeks does not fill
// the mapper's memory or a report: in a long run a line stands for several neighbouring intervals.
// So the lines cover the whole run, and their sums are those of the run. Lines in which ranks or
// their memory moved stand alone as long as there are at most `most` of them: each tells when the
// mapping changed. The last `fresh` lines stand alone, too: `ondeloc top` shows them. Thread
// safety: for one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mapcore/report/report.h"

namespace ondeloc {

class IntervalLog {
 public:
  static constexpr std::size_t kMost = 10000, kFresh = 32;

  explicit IntervalLog(std::size_t most = kMost, std::size_t fresh = kFresh)
      : most_(most), fresh_(fresh) {}

  void keep(ReportInterval line);

  // At most 2 * most, if that is more than fresh.
  const std::vector<ReportInterval>& kept() const { return kept_; }
  int remaps() const { return remaps_; }

  // For the report; empty if each line is one interval.
  std::string note() const;

 private:
  void shrink();
  void put_together(std::size_t most_intervals, bool moves_too);

  std::size_t most_, fresh_;
  std::vector<ReportInterval> kept_;
  int remaps_ = 0;
  std::size_t intervals_ = 0;
  std::size_t quiet_ = 0;  // lines in which nothing moved
  bool has_joined_moves_ = false;
};

}  // namespace ondeloc
