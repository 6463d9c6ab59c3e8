// SPDX-License-Identifier: Apache-2.0
// The intervals that a report holds. Their number is limited, so that a job of weeks does not fill
// the mapper's memory: the first `most` intervals, then up to `most` more in which ranks were
// moved. Thread safety: for one thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "mapcore/report/report.h"

namespace ondeloc {

class IntervalLog {
 public:
  explicit IntervalLog(std::size_t most = 10000) : most_(most) {}

  void keep(ReportInterval line) {
    remaps_ += line.remapped ? 1 : 0;
    if (kept_.size() < (line.remapped ? 2 * most_ : most_)) {
      kept_.push_back(std::move(line));
    } else {
      ++(line.remapped ? omitted_remaps_ : omitted_);
    }
  }

  const std::vector<ReportInterval>& kept() const { return kept_; }
  int remaps() const { return remaps_; }

  // For the report; empty if no interval is left out.
  std::string note() const {
    if (omitted_remaps_ > 0)
      return fmt::format("{} intervals are left out, {} of them with a remap",
                         omitted_ + omitted_remaps_, omitted_remaps_);
    if (omitted_ > 0) return fmt::format("{} intervals without a remap are left out", omitted_);
    return {};
  }

 private:
  std::size_t most_;
  std::vector<ReportInterval> kept_;
  int remaps_ = 0;
  std::size_t omitted_ = 0, omitted_remaps_ = 0;
};

}  // namespace ondeloc
