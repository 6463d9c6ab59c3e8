// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/window_matrix.h"

#include <algorithm>

#include "mapcore/profile/pair_sum.h"

namespace ondeloc {

TimeWindow clip(const TimeWindow& window, const TimeWindow& span) {
  TimeWindow both{std::max(window.from_ns, span.from_ns), std::min(window.to_ns, span.to_ns)};
  both.to_ns = std::max(both.from_ns, both.to_ns);
  return both;
}

bool uses_totals(const ProfileReader& profile, const TimeWindow& window) {
  const TimeWindow span = profile.span();
  const std::vector<RankDrops> drops = profile.drops();
  const bool dropped =
      std::any_of(drops.begin(), drops.end(), [](const RankDrops& d) { return d.events > 0; });
  return dropped && window.from_ns <= span.from_ns && window.to_ns >= span.to_ns &&
         profile.header().nodes == 1 && profile.header().local_ranks == profile.header().ranks &&
         !profile.totals().empty();
}

CommMatrix profile_matrix(ProfileReader& profile, const TimeWindow& window,
                          const Progress& progress) {
  PairSum sum(profile.ranks());
  if (uses_totals(profile, window)) {
    for (const PairTotal& t : profile.totals()) sum.add(t.src, t.dst, t.bytes, t.messages);
    return sum.matrix();
  }
  profile.for_each(
      window,
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) sum.add(event);
      },
      progress);
  return sum.matrix();
}

CommMatrix normalised(CommMatrix matrix) {
  double most = 0;
  for (const MatrixEntry& entry : matrix.entries) most = std::max(most, entry.bytes);
  if (most <= 0) return matrix;
  for (MatrixEntry& entry : matrix.entries) entry.bytes /= most;
  return matrix;
}

}  // namespace ondeloc
