// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/rank_memory.h"

#include <unistd.h>

#include <algorithm>

#include "mapcore/binding/cgroup.h"
#include "mapcore/binding/proc.h"
#include "mapcore/mapper/pauses.h"

namespace ondeloc {
namespace {

bool has_changed(std::uint64_t before, std::uint64_t now) {
  const auto [less, more] = std::minmax(before, now);
  return more - less > less / 8;
}

}  // namespace

RankMemory::Clock::time_point RankMemory::after_look(Clock::time_point begin) {
  const auto end = Clock::now();
  return end + kPauses * (end - begin);
}

void RankMemory::look_at(pid_t process, Seen& seen) {
  const auto begin = Clock::now();
  seen.bytes = read_private_bytes(process).value_or(0);
  if (seen.process != process || has_changed(seen.bytes_with_share, seen.bytes)) seen.share.reset();
  seen.process = process;
  seen.due = after_look(begin);
}

void RankMemory::look_at_share(Seen& seen) {
  const auto begin = Clock::now();
  const auto in_page_tables = [&seen] {
    const std::uint64_t huge = std::min(seen.bytes, read_huge_bytes(seen.process));
    return static_cast<double>(huge) / static_cast<double>(seen.bytes);
  };
  const auto in_cgroup = read_huge_share_of_cgroup(seen.process);
  seen.share = share_ = in_cgroup ? *in_cgroup : in_page_tables();
  seen.bytes_with_share = seen.bytes;
  share_due_ = after_look(begin);
}

FollowingMemory RankMemory::of(LocalRank rank, pid_t process) {
  const auto index = static_cast<std::size_t>(rank.value);
  if (index >= seen_.size()) seen_.resize(index + 1);
  Seen& seen = seen_[index];
  if (seen.process != process || Clock::now() >= seen.due) look_at(process, seen);
  if (seen.bytes > 0 && !seen.share && Clock::now() >= share_due_) look_at_share(seen);
  const auto bytes = static_cast<double>(seen.bytes);
  const double small = bytes * (1 - seen.share.value_or(share_));
  return {bytes, small / static_cast<double>(sysconf(_SC_PAGESIZE))};
}

}  // namespace ondeloc
