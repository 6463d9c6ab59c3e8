// SPDX-License-Identifier: Apache-2.0
// The ranks of the step on this node as the mapper follows them: the task that Slurm started, the
// process that claimed the row (it may be a child of the task, under a wrapper script), alive or
// not.
//
// What slots and events say is a claim of some process of the user. It is believed only when /proc
// shows the same uid and descent from the task, and the process is held from then on.
// Thread safety: for one thread.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/mapper/end_watch.h"
#include "mapcore/mapper/held_process.h"
#include "mapcore/segment/event_record.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

struct RankState {
  WorldRank world{-1};
  pid_t task = 0;
  HeldProcess task_hold;
  CpuSet initial;     // mask as Slurm set it
  pid_t process = 0;  // the MPI process, 0 before it attaches
  HeldProcess process_hold;
  pid_t gone = 0;              // attached and ended between two looks: for the report only
  bool refused = false;        // whoever attached is not a process of this task
  pid_t refused_pid = 0;       // and is not asked for again: that takes longer than all the rest
  bool ready = false;          // the task part of the slot is there
  bool detached = false;       // MPI_Finalize was called
  bool ended = false;          // process, or task that never attached, is gone
  bool closed = false;         // the slot was looked at after the end: nothing more will come
  bool watched = false;        // its hold is one of those that `watch_` tells the end of
  bool no_descriptor = false;  // there, but the mapper may not open more files to follow it
  std::uint32_t notes = 0;     // ONDELOC_NOTE_*
  std::string library;
  bool attached() const { return process != 0; }
  bool done() const { return detached || ended; }
  bool movable() const { return attached() && !done(); }
  // It counts in memory of its own (transport=pmix) and did not say what it had sent at its end.
  bool lost_its_counts() const {
    return (notes & ONDELOC_NOTE_TRANSPORT_PMIX) != 0 && attached() && ended && !detached;
  }
  const HeldProcess& hold() const { return attached() ? process_hold : task_hold; }
};

class Ranks {
 public:
  explicit Ranks(int count) : states_(static_cast<std::size_t>(count)) {}

  // Looks at every slot again. True when something changed.
  bool refresh(const SegmentView& view);
  // An ATTACH event from world rank `world` says that `pid` is its process.
  bool attach(const SegmentView& view, const ondeloc_record_attach& told);
  void detach(const SegmentView& view, WorldRank world);
  // Appends what poll(2) has to look at to learn of the end of a process that has a pidfd: one
  // entry for all of them, or one each where that cannot be had. Call note_ended with the same
  // array afterwards. True when one has ended.
  void add_to_poll(std::vector<pollfd>& fds) const;
  bool note_ended(const std::vector<pollfd>& fds);

  bool all_ready() const;    // every task has written its slot
  bool all_done() const;     // every rank has detached or ended
  bool nobody_left() const;  // the same, tasks that never came not waited for
  bool any_attached() const;
  int count() const { return static_cast<int>(states_.size()); }
  RankState& at(LocalRank rank) { return states_[static_cast<std::size_t>(rank.value)]; }
  const std::vector<RankState>& all() const { return states_; }

 private:
  bool claim(RankState& state, pid_t pid);
  void watch(RankState& state);
  bool note_unwatched(const std::vector<pollfd>& fds);
  std::vector<RankState> states_;
  EndWatch watch_;
};

}  // namespace ondeloc
