// SPDX-License-Identifier: Apache-2.0
// Drops and totals of the ranks while the recorder runs, so that the profile of a recorder that was
// killed says what was lost and counted up to then. Only what has changed is written (the last
// record of a rank or pair counts): drops at every write, totals after 1, 2, 4 ... 64 of them,
// since a pair of ranks costs 4 numbers. Ownership: borrows view and pools. Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapcore/mapper/event_pools.h"
#include "mapcore/profile/writer.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

inline constexpr std::uint32_t kWorldRankUnknown = UINT32_MAX;

class RunningSums {
 public:
  // `world_of`: world rank of each local rank, read anew at every write. What concerns one that is
  // kWorldRankUnknown is left for a later write.
  RunningSums(const SegmentView& view, const EventPools& pools,
              std::span<const std::uint32_t> world_of);
  void write(ProfileWriter& writer);
  void write_last(ProfileWriter& writer);
  // Of all ranks, as of the last write.
  const EventPools::Drops& dropped() const { return dropped_; }

 private:
  void write_drops(ProfileWriter& writer);
  void write_totals(ProfileWriter& writer);

  const SegmentView& view_;
  const EventPools& pools_;
  std::span<const std::uint32_t> world_of_;
  std::vector<std::uint64_t> written_drops_;  // events, by local rank
  std::vector<ondeloc_cell> written_;         // rows of the ranks, each local_ranks + 1 cells
  EventPools::Drops dropped_;
  unsigned writes_ = 0, totals_after_ = 1;
};

}  // namespace ondeloc
