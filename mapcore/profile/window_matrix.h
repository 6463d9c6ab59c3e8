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

// Returns the sum of the messages in the window. If messages were dropped and the window is the
// whole run, each pair gets the larger of that sum and the rank's own count. The counts are exact
// for ranks of one node (in a merged profile: of each node); a killed recorder has written them
// some time before its end. Traffic to other nodes has one sum per rank and no receiver, so those
// pairs lack the dropped messages.
CommMatrix profile_matrix(ProfileReader& profile, const TimeWindow& window = {},
                          const Progress& progress = {});

// True if the window leaves out no message of the run.
bool covers_run(const ProfileReader& profile, const TimeWindow& window);

// True if profile_matrix() uses the ranks' own counts.
bool uses_totals(const ProfileReader& profile, const TimeWindow& window);

// The sum over all ranks; its rank is 0.
RankDrops all_drops(const ProfileReader& profile);

// The largest value is 1 (equation 2.6 of the DeLoc thesis); an empty matrix stays empty.
CommMatrix normalised(CommMatrix matrix);

}  // namespace ondeloc
