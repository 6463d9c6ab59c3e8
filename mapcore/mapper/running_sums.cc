// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/running_sums.h"

#include <algorithm>

namespace ondeloc {

constexpr unsigned kSeldomest = 64;
// So that the first write has a line for every rank, which tells a reader whose ranks these are.
constexpr std::uint64_t kNeverWritten = UINT64_MAX;

RunningSums::RunningSums(const SegmentView& view, const EventPools& pools,
                         std::span<const std::uint32_t> world_of)
    : view_(view),
      pools_(pools),
      world_of_(world_of),
      written_drops_(world_of.size(), kNeverWritten),
      written_(world_of.size() * (world_of.size() + 1)) {}

void RunningSums::write(ProfileWriter& writer) {
  write_drops(writer);
  if (++writes_ < totals_after_) return;
  write_totals(writer);
  totals_after_ = std::min(2 * totals_after_, kSeldomest);
  writes_ = 0;
}

void RunningSums::write_last(ProfileWriter& writer) {
  write_drops(writer);
  write_totals(writer);
}

void RunningSums::write_drops(ProfileWriter& writer) {
  std::vector<RankDrops> changed;
  dropped_ = {};
  for (std::size_t i = 0; i < world_of_.size(); ++i) {
    const EventPools::Drops now = pools_.drops(static_cast<std::uint32_t>(i));
    dropped_.events += now.events;
    dropped_.bytes += now.bytes;
    dropped_.crowded += now.crowded;
    if (world_of_[i] == kWorldRankUnknown || now.events == written_drops_[i]) continue;
    changed.push_back({world_of_[i], now.events, now.bytes});
    written_drops_[i] = now.events;
  }
  (void)writer.add_drops(changed);
}

// The rows count every message, recorded or dropped. src = dst: what left the node.
void RunningSums::write_totals(ProfileWriter& writer) {
  const std::size_t width = world_of_.size() + 1;
  std::vector<PairTotal> changed;
  std::vector<ondeloc_cell> row(width);
  for (std::size_t i = 0; i < world_of_.size(); ++i) {
    view_.read_row(static_cast<int>(i), row);
    for (std::size_t j = 0; j < width; ++j) {
      ondeloc_cell& before = written_[i * width + j];
      const std::size_t to = j < world_of_.size() ? j : i;
      if (i == j || (row[j].messages == before.messages && row[j].bytes == before.bytes)) continue;
      if (world_of_[i] == kWorldRankUnknown || world_of_[to] == kWorldRankUnknown) continue;
      before = row[j];
      changed.push_back({world_of_[i], world_of_[to], row[j].bytes, row[j].messages});
    }
  }
  (void)writer.add_totals(changed);
}

}  // namespace ondeloc
