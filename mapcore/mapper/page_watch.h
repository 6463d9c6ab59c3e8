// SPDX-License-Identifier: Apache-2.0
// Looks at the NUMA nodes of the ranks' own pages while the ranks run, one rank after the other, so
// that the report can tell which share is far from the threads, and memory=follow can bring pages
// to their rank. Thread safety: for one thread. Nothing here is fatal.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/binding/page_sample.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/report/report.h"

namespace ondeloc {

class PageWatch {
 public:
  explicit PageWatch(int ranks) : seen_(static_cast<std::size_t>(ranks)) {}

  // Looks at one rank, and at the next rank in the next call. The pause between two looks is 4000
  // times as long as the look took, but five seconds at most. From the third look at a rank on the
  // same CPUs on the pause is ten times as long. A call in the pause does nothing, and neither does
  // a call for a step with one NUMA node. With `brings`, far pages of ranks on one node are asked
  // to follow, and each pause is 1000 times as long as the look took, but two seconds at most.
  void look(Placement& placement, const Ranks& ranks, bool brings);

  void fill(LocalRank rank, ReportRank& line) const;
  // The ranks with many far pages, without those that left their pages behind when they were moved;
  // empty if there is none.
  std::string note(const Ranks& ranks) const;

 private:
  struct Seen {
    std::optional<PagesByNode> pages;  // at the last look
    double far = 0;
    bool is_left = false;  // Placement::has_left_memory()
    CpuSet cpus;           // of the rank at the last look
    int looks = 0;         // at these CPUs
    CpuSet brought_to;     // CPUs that its pages were asked to follow to
  };
  using Clock = std::chrono::steady_clock;
  void look_at(LocalRank rank, Placement& placement, const RankState& state, bool brings);

  IndexedVector<LocalRank, Seen> seen_;
  std::size_t next_ = 0;
  Clock::time_point due_;
};

}  // namespace ondeloc
