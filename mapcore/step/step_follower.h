// SPDX-License-Identifier: Apache-2.0
// Follows the ranks of a step on this node until the step is over. The mapper and the recorder
// share it. Thread safety: for one thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "mapcore/segment/segment_view.h"
#include "mapcore/step/channel.h"
#include "mapcore/step/ranks.h"
#include "mapcore/step/stopped_time.h"

namespace ondeloc {

class StepFollower {
 public:
  using Clock = std::chrono::steady_clock;
  using Handle = std::function<void(const Record&)>;

  // Does not own `channel_fd`; -1: no channel.
  StepFollower(SegmentView view, int channel_fd);

  SegmentView& view() { return view_; }
  const SegmentView& view() const { return view_; }
  Ranks& ranks() { return ranks_; }
  const Ranks& ranks() const { return ranks_; }
  bool channel_is_open() const { return channel_.open(); }

  // Sleeps until `until`, but at most until a rank ends or, if `listens`, an event comes. Then
  // applies each event that has come to the ranks and hands it to `handle`. Returns the time for
  // which the step was stopped meanwhile, as a rule 0.
  Clock::duration wait(Clock::time_point until, bool listens, const Handle& handle);
  // Reads the slots of the ranks if the last time is `every` ago or a rank has ended since. When
  // all are there, the calling thread may run on the CPUs of all ranks.
  void refresh(Clock::duration every);
  // True if slurmstepd said so, every rank is done, or slurmstepd is gone and no rank is left.
  bool is_over() const;
  // For the report; empty if the step was never stopped.
  std::string stopped_note() const { return stopped_.note(); }

 private:
  void on_record(const Record& record);
  void spread_over_ranks();

  SegmentView view_;
  Channel channel_;
  Ranks ranks_;
  StoppedTime stopped_;
  Clock::time_point refreshed_;
  bool ended_ = false;   // slurmstepd said so
  bool spread_ = false;  // spread_over_ranks() has done its work
};

}  // namespace ondeloc
