// SPDX-License-Identifier: Apache-2.0
// The memory of each rank that would follow it to another NUMA node. Thread safety: for one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/decide/migration.h"

namespace ondeloc {

class RankMemory {
 public:
  // No bytes if the process was gone at the last look. A rank is looked at again after 4000 times
  // as long as the last look took. The part in huge pages is read again only after the bytes have
  // changed by an eighth: for it the kernel walks all page tables of the rank.
  FollowingMemory of(LocalRank rank, pid_t process);

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    pid_t process = -1;
    std::uint64_t bytes = 0, huge = 0;
    std::uint64_t bytes_with_huge = 0;  // when `huge` was read
    Clock::time_point due;
  };
  static void look_at(pid_t process, Seen& seen);

  std::vector<Seen> seen_;  // by local rank
};

}  // namespace ondeloc
