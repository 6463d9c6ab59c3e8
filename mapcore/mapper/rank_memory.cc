// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/rank_memory.h"

#include <unistd.h>

#include <algorithm>

#include "mapcore/binding/proc.h"

namespace ondeloc {

bool RankMemory::is_old(const Seen& seen, pid_t process, std::uint64_t bytes) {
  const auto [less, more] = std::minmax(seen.bytes, bytes);
  return seen.process != process || more - less > less / 8;
}

FollowingMemory RankMemory::of(LocalRank rank, pid_t process) {
  const auto index = static_cast<std::size_t>(rank.value);
  if (index >= seen_.size()) seen_.resize(index + 1);
  const std::uint64_t bytes = read_private_bytes(process).value_or(0);
  Seen& seen = seen_[index];
  if (is_old(seen, process, bytes)) seen = {process, bytes, read_huge_bytes(process)};
  const std::uint64_t small = bytes - std::min(bytes, seen.huge);
  return {static_cast<double>(bytes),
          static_cast<double>(small / static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)))};
}

}  // namespace ondeloc
