// SPDX-License-Identifier: Apache-2.0
// Communication matrices of a profile: any time window, intervals, the exact totals. Thread safety:
// as the reader.
#pragma once

#include <functional>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/profile/reader.h"

namespace ondeloc {

// The part of `window` inside `span`; {from, from} when they do not meet.
TimeWindow clip(const TimeWindow& window, const TimeWindow& span);

// Sum of the messages in the window. Where messages were dropped and the whole run is asked for,
// the larger of that sum and the rank's own count is taken for each pair: the counts are exact for
// ranks of one node (in a merged profile: of each node) and as old as a recorder's last word where
// it was killed. What left a node has one sum per rank and no receiver, so those pairs miss what
// was dropped.
CommMatrix profile_matrix(ProfileReader& profile, const TimeWindow& window = {},
                          const Progress& progress = {});

// True where profile_matrix() looks at the ranks' own counts.
bool uses_totals(const ProfileReader& profile, const TimeWindow& window);

// Of all ranks; rank is 0.
RankDrops all_drops(const ProfileReader& profile);

// The largest value is 1 (equation 2.6 of the DeLoc thesis); an empty matrix stays empty.
CommMatrix normalised(CommMatrix matrix);

}  // namespace ondeloc
