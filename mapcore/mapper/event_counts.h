// SPDX-License-Identifier: Apache-2.0
// Counts the events of the ranks: how many came, how many were lost, and how many messages the
// ranks say that they counted. Thread safety: for one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mapcore/base/ids.h"
#include "mapcore/base/indexed_vector.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/report/report.h"
#include "mapcore/segment/record_check.h"

namespace ondeloc {

class EventCounts {
 public:
  explicit EventCounts(int local_ranks) : ranks_(static_cast<std::size_t>(local_ranks)) {}

  void note(const SegmentView& view, const Record& record);
  // Puts the SAMPLE events since the last call into `line`.
  void take_samples(ReportInterval& line);
  // With the events that are known to be lost.
  ReportEvents totals() const;
  bool rows_came() const { return events_.row > 0; }
  // True if `detached` ranks have detached, but not as many DETACH events have come.
  bool misses_detach(std::uint64_t detached) const {
    return events_.attach > 0 && events_.detach < detached;
  }
  // A sentence if the ranks said at their end that they had sent more messages than were counted.
  std::optional<std::string> note_of_missing(const Counters& counters) const;

 private:
  struct OfRank {
    std::uint64_t samples_sent = 0, samples_came = 0;
    std::uint64_t messages = 0;  // according to DETACH
  };
  void note_sample(LocalRank rank, std::uint64_t sent, std::uint64_t came);

  IndexedVector<LocalRank, OfRank> ranks_;
  ReportEvents events_;
  std::uint64_t samples_ = 0;  // since take_samples
  double sample_bytes_ = 0;
};

}  // namespace ondeloc
