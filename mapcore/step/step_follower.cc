// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/step_follower.h"

#include <algorithm>
#include <variant>

#include "mapcore/binding/affinity.h"

namespace ondeloc {

using std::chrono::milliseconds;

StepFollower::StepFollower(SegmentView view, int channel_fd)
    : view_(std::move(view)), channel_(channel_fd), ranks_(view_.local_ranks()) {}

StepFollower::Clock::duration StepFollower::wait(Clock::time_point until, bool listens,
                                                 const Handle& handle) {
  std::vector<pollfd> fds;
  if (channel_.open() && listens) fds.push_back({channel_.fd(), POLLIN, 0});
  ranks_.add_to_poll(fds);
  const auto now = Clock::now();
  const auto left = std::clamp(std::chrono::ceil<milliseconds>(until - now), milliseconds(0),
                               milliseconds(60000));
  const int woken = poll(fds.data(), fds.size(), static_cast<int>(left.count()));
  const Clock::duration stopped = stopped_.woke(now + left);
  if (woken > 0 && ranks_.note_ended(fds)) refreshed_ = {};
  if (woken > 0 || !listens) {
    channel_.drain([&](const Record& record) {
      on_record(record);
      handle(record);
    });
  }
  return stopped;
}

void StepFollower::on_record(const Record& record) {
  if (const auto* attach = std::get_if<ondeloc_record_attach>(&record))
    ranks_.attach(view_, *attach);
  if (std::holds_alternative<ondeloc_record_detach>(record))
    ranks_.detach(view_, WorldRank(static_cast<int>(head_of(record).world_rank)));
  ended_ = ended_ || std::holds_alternative<ondeloc_record_end>(record);
}

void StepFollower::refresh(Clock::duration every) {
  const auto now = Clock::now();
  if (now < refreshed_ + every) return;
  refreshed_ = now;
  ranks_.refresh(view_);
  spread_over_ranks();
}

// Slurm lists the CPUs of all tasks for some kinds of binding only. For others the plugin knows
// those of local task 0 alone, and that rank would pay for all work here.
void StepFollower::spread_over_ranks() {
  if (spread_ || !ranks_.all_ready()) return;
  spread_ = true;
  const auto own = get_affinity(0);
  if (!own) return;
  CpuSet all = *own;
  for (const RankState& rank : ranks_.all()) all |= rank.initial;
  if (!all.is_subset_of(*own)) (void)set_affinity(0, all);
}

bool StepFollower::is_over() const {
  return ended_ || ranks_.all_done() || (!channel_.open() && ranks_.nobody_left());
}

}  // namespace ondeloc
