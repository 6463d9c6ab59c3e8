// SPDX-License-Identifier: Apache-2.0
// The memory of each rank that would follow it to another NUMA node. Thread safety: for one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/decide/migration.h"

namespace ondeloc {

class RankMemory {
 public:
  // No bytes if the process was gone at the last look. A rank is looked at again after 4000 times
  // as long as the last look took. The share in huge pages is that of the rank's cgroup; where no
  // cgroup tells it, the kernel walks all page tables of the rank. So it is asked for one rank,
  // which stands for those that were not yet asked for, and for another rank after 4000 times as
  // long as that took. It is asked for again after the bytes of the rank have changed by an eighth.
  FollowingMemory of(LocalRank rank, pid_t process);

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    pid_t process = -1;
    std::uint64_t bytes = 0;
    Clock::time_point due;
    std::optional<double> share;         // in huge pages
    std::uint64_t bytes_with_share = 0;  // when the share was read
  };
  static Clock::time_point after_look(Clock::time_point begin);
  static void look_at(pid_t process, Seen& seen);
  void look_at_share(Seen& seen);

  std::vector<Seen> seen_;  // by local rank
  double share_ = 0;        // of the rank that was asked for last
  Clock::time_point share_due_;
};

}  // namespace ondeloc
