// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/thread_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"
#include "mapcore/rankfile/rankfile.h"

namespace ondeloc {

ThreadCounts::ThreadCounts(const Options& options) {
  if (options.mode != Mode::kStatic || is_layout(options.file)) return;
  const auto file = read_rankfile(options.file);
  if (!file) return;
  for (const auto& [rank, entry] : file->entries) {
    if (entry.threads.empty()) continue;
    counts_[rank].placed = static_cast<std::size_t>(entry.threads.rbegin()->first) + 1;
  }
}

void ThreadCounts::look(const Ranks& ranks) {
  if (counts_.empty()) return;
  for (const RankState& rank : ranks.all()) {
    const auto at = counts_.find(rank.world);
    if (at == counts_.end() || rank.ended) continue;
    const pid_t pid = rank.attached() ? rank.process : rank.task;
    if (pid > 0) at->second.most = std::max(at->second.most, read_threads(pid).size());
  }
}

std::vector<std::string> ThreadCounts::notes() const {
  std::vector<std::string> notes;
  for (const auto& [rank, count] : counts_) {
    if (count.most == 0 || count.most == count.placed) continue;
    notes.push_back(fmt::format(
        "rank {}: at most {} seen at a time, but the rankfile has places for {}{}", rank.value,
        count.most == 1 ? "1 thread was" : fmt::format("{} threads were", count.most), count.placed,
        count.most > count.placed ? "; the others ran on all CPUs of the rank" : ""));
  }
  return notes;
}

}  // namespace ondeloc
