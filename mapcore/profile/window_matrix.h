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

// Sum of the messages in the window. Where messages were dropped, the whole run is asked for and
// every rank was on the recorded node, the exact totals of the ranks' counters are taken instead.
CommMatrix profile_matrix(ProfileReader& profile, const TimeWindow& window = {},
                          const Progress& progress = {});

// True where profile_matrix() gives the exact totals instead of the recorded messages.
bool uses_totals(const ProfileReader& profile, const TimeWindow& window);

// The largest value is 1 (equation 2.6 of the DeLoc thesis); an empty matrix stays empty.
CommMatrix normalised(CommMatrix matrix);

}  // namespace ondeloc
