// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/running_sums.h"

#include <algorithm>

#include "mapcore/base/saturating.h"

namespace ondeloc {

constexpr unsigned kSeldomest = 64;  // writes between two writes of the totals, at most
// Makes the first write have a record for every rank: readers learn from it which ranks ran on the
// node.
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
  writes_ = 0;
  // If nothing was sent yet, the first totals do not wait longer.
  if (write_totals(writer)) totals_after_ = std::min(2 * totals_after_, kSeldomest);
}

void RunningSums::write_last(ProfileWriter& writer) {
  write_drops(writer);
  (void)write_totals(writer);
}

void RunningSums::write_drops(ProfileWriter& writer) {
  std::vector<RankDrops> changed;
  dropped_ = {};
  for (std::size_t i = 0; i < world_of_.size(); ++i) {
    const EventPools::Drops now = pools_.drops(static_cast<std::uint32_t>(i));
    dropped_.events = saturating_sum(dropped_.events, now.events);
    dropped_.bytes = saturating_sum(dropped_.bytes, now.bytes);
    dropped_.crowded = saturating_sum(dropped_.crowded, now.crowded);
    if (world_of_[i] == kWorldRankUnknown || now.events == written_drops_[i]) continue;
    changed.push_back({world_of_[i], now.events, now.bytes});
    written_drops_[i] = now.events;
  }
  (void)writer.add_drops(changed);
}

std::uint64_t RunningSums::bytes_of(bool off_node) const {
  const std::size_t width = world_of_.size() + 1;
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c < written_.size(); ++c) {
    if ((c % width == world_of_.size()) == off_node) sum += written_[c].bytes;
  }
  return sum;
}

// Adds what others fetched from a rank to what it sent, and what it fetched from other nodes to its
// traffic to them.
void RunningSums::add_fetched(int rank, std::span<ondeloc_cell> row) const {
  const int ranks = view_.local_ranks();
  for (int j = 0; j <= ranks; ++j) {
    const int fetcher = j < ranks ? j : rank;
    if (!view_.fetches(fetcher)) continue;
    const ondeloc_cell cell = view_.fetched(fetcher, j < ranks ? rank : ranks);
    row[static_cast<std::size_t>(j)].bytes += cell.bytes;
    row[static_cast<std::size_t>(j)].messages += cell.messages;
  }
}

// The rows count every message, recorded or dropped. A record with src = dst holds the traffic to
// other nodes.
bool RunningSums::write_totals(ProfileWriter& writer) {
  const std::size_t width = world_of_.size() + 1;
  std::vector<PairTotal> changed;
  std::vector<ondeloc_cell> row(width);
  for (std::size_t i = 0; i < world_of_.size(); ++i) {
    view_.read_row(static_cast<int>(i), row);
    add_fetched(static_cast<int>(i), row);
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
  return !changed.empty();
}

}  // namespace ondeloc
