// SPDX-License-Identifier: MIT
// vCPUs are up to a window apart in simulated time, and whoever waits for a message polls a line of
// memory. Without a correction each message would cost its receiver up to a window more, or less,
// than the machine's latency.
#pragma once
#include <cstdint>

#include "tests/lab/plugin/private_cache.h"

namespace numalab {

// vCPUs are not further apart than this many windows, but for a loaded host: a write that lies
// further back was seen before.
inline constexpr std::uint64_t kFurthestWindows = 32;

// The time at which a core sees what another core wrote at `written_ps`. Nobody sees a write before
// it happened: a core that reads at `now_ps` what is written later waits for it. One that polls the
// line (three loads without a store, the last at most `gap_ps` ago), and polled in vain after the
// write, sees it at the first of those polls. Everybody else sees it when it looks.
inline std::uint64_t seen_at(std::uint64_t now_ps, const Polling& polling, std::uint64_t written_ps,
                             std::uint64_t gap_ps) {
  if (written_ps >= now_ps) {
    return written_ps - now_ps < kFurthestWindows * gap_ps ? written_ps : now_ps;
  }
  if (now_ps - written_ps > kFurthestWindows * gap_ps) return now_ps;
  if (!polling.is_likely() || polling.last_ps <= written_ps || polling.last_ps >= now_ps) {
    return now_ps;
  }
  const std::uint64_t period = now_ps - polling.last_ps;
  return period > gap_ps ? now_ps : written_ps + (now_ps - written_ps) % period;
}

}  // namespace numalab
