// SPDX-License-Identifier: Apache-2.0
// The memory of each rank that would follow it to another NUMA node. Thread safety: for one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/decide/migration.h"

namespace ondeloc {

class RankMemory {
 public:
  // No bytes if the process is gone. The part in huge pages is read again only after the bytes have
  // changed by an eighth: for it the kernel walks all page tables of the rank.
  FollowingMemory of(LocalRank rank, pid_t process);

 private:
  struct Seen {
    pid_t process = -1;
    std::uint64_t bytes = 0, huge = 0;
  };
  static bool is_old(const Seen& seen, pid_t process, std::uint64_t bytes);

  std::vector<Seen> seen_;  // by local rank
};

}  // namespace ondeloc
