// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/recorded_cpus.h"

#include <algorithm>

namespace ondeloc {

int recorded_share(std::span<const RankCpuSet> ranks) {
  if (ranks.empty()) return 0;
  CpuSet all;
  int fewest = CpuSet::kMaxCpu;
  for (const RankCpuSet& rank : ranks) {
    all |= rank.cpus;
    fewest = std::min(fewest, rank.cpus.count());
  }
  if (fewest == 0) return 0;
  return std::clamp(all.count() / static_cast<int>(ranks.size()), 1, fewest);
}

}  // namespace ondeloc
