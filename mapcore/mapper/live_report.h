// SPDX-License-Identifier: Apache-2.0
// The state that `ondeloc top` shows: the report of the present moment, without the matrix, in a
// file of memory that only processes of the same user can open, by /proc/PID/fd. Each publication
// is a new sealed file, so that a reader sees one report whole. Ownership: owns the file. Thread
// safety: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include "mapcore/base/unique_fd.h"
#include "mapcore/mapper/pauses.h"

namespace ondeloc {

inline constexpr const char* kLiveReportName = "ondeloc-live";  // in the link of /proc/PID/fd

class LiveReport {
 public:
  using Seconds = std::chrono::duration<double>;

  // At most once a second while somebody reads the reports, and less often if a publication takes
  // longer than a thousandth of that; else every ten seconds, less often if it takes long
  // (pauses.h).
  bool is_due(Seconds since_start) const {
    return since_start >= due_ || (since_start >= due_if_read_ && was_read());
  }
  void published(Seconds since_start, Seconds took) {
    due_if_read_ = since_start + std::max(kShortest, 1000 * took);
    due_ = since_start + std::max(kUnread, kPauses * took);
  }
  // Keeps the previous text if there is no memory or no descriptor for another.
  void publish(std::string_view text);

 private:
  // Memory files have times of access; without them, nobody seems to read.
  bool was_read() const;

  static constexpr Seconds kShortest{1}, kUnread{10};
  Seconds due_{0}, due_if_read_{0};
  UniqueFd file_;
};

}  // namespace ondeloc
