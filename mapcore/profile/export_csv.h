// SPDX-License-Identifier: Apache-2.0
// A profile as text: events.csv (time order, microseconds since the first event of the profile with
// up to three decimals), intervals.csv (interval,src,dst,bytes). Thread safety: as the reader.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/profile/reader.h"

namespace ondeloc {

// Takes pieces of text; false stops the export (a full disk).
using TextSink = std::function<bool(std::string_view)>;

Status export_events(ProfileReader& profile, const TimeWindow& window, const TextSink& sink,
                     const Progress& progress = {});
// `count` equal intervals over the window's part of the run, self-sends left out.
Status export_intervals(ProfileReader& profile, const TimeWindow& window, std::size_t count,
                        const TextSink& sink, const Progress& progress = {});

}  // namespace ondeloc
