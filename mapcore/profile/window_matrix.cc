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

bool covers_run(const ProfileReader& profile, const TimeWindow& window) {
  const TimeWindow span = profile.span();
  return window.from_ns <= span.from_ns && window.to_ns >= span.to_ns;
}

bool uses_totals(const ProfileReader& profile, const TimeWindow& window) {
  return all_drops(profile).events > 0 && covers_run(profile, window) && !profile.totals().empty();
}

RankDrops all_drops(const ProfileReader& profile) {
  RankDrops sum;
  for (const RankDrops& drops : profile.drops()) {
    sum.events += drops.events;
    sum.bytes += drops.bytes;
  }
  return sum;
}

CommMatrix profile_matrix(ProfileReader& profile, const TimeWindow& window,
                          const Progress& progress) {
  PairSum sum(profile.ranks());
  profile.for_each(
      window,
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) sum.add(event);
      },
      progress);
  if (uses_totals(profile, window)) {
    for (const PairTotal& t : profile.totals()) sum.raise(t.src, t.dst, t.bytes, t.messages);
  }
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
