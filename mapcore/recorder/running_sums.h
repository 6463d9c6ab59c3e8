// SPDX-License-Identifier: Apache-2.0
// Writes drops and totals of the ranks while the recorder runs, so that they are in the profile of
// a killed recorder too. Only changed values are written (the last record of a rank or pair
// counts): drops at every write, totals after 1, 2, 4 ... 64 of them, since a pair of ranks costs 4
// numbers. A write without a changed total does not lengthen that distance. Ownership: borrows view
// and pools. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mapcore/profile/writer.h"
#include "mapcore/recorder/event_pools.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

inline constexpr std::uint32_t kWorldRankUnknown = UINT32_MAX;

class RunningSums {
 public:
  // `world_of` holds the world rank of each local rank and is read again at every write. Values of
  // a rank that is still kWorldRankUnknown wait for a later write.
  RunningSums(const SegmentView& view, const EventPools& pools,
              std::span<const std::uint32_t> world_of);
  void write(ProfileWriter& writer);
  void write_last(ProfileWriter& writer);
  // The sum over all ranks, as of the last write.
  const EventPools::Drops& dropped() const { return dropped_; }
  // Bytes that the ranks counted, dropped messages included, as of the last write of totals.
  std::uint64_t bytes_here() const { return bytes_of(false); }
  std::uint64_t bytes_off_node() const { return bytes_of(true); }

 private:
  void write_drops(ProfileWriter& writer);
  // Returns whether a total had changed.
  bool write_totals(ProfileWriter& writer);
  std::uint64_t bytes_of(bool off_node) const;
  void add_fetched(int rank, std::span<ondeloc_cell> row) const;

  const SegmentView& view_;
  const EventPools& pools_;
  std::span<const std::uint32_t> world_of_;
  std::vector<std::uint64_t> written_drops_;  // events, by local rank
  std::vector<ondeloc_cell> written_;         // rows of the ranks, each local_ranks + 1 cells
  EventPools::Drops dropped_;
  unsigned writes_ = 0, totals_after_ = 1;
};

}  // namespace ondeloc
