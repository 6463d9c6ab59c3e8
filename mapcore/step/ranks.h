// SPDX-License-Identifier: Apache-2.0
// The ranks of the step on this node as the mapper follows them: the task that Slurm started, the
// process that claimed the row (it may be a child of the task, under a wrapper script), alive or
// not.
//
// A slot or an event is a claim of some process of the user. The mapper believes the claim only if
// /proc shows the same uid, and descent from the task or the environment of this very rank
// (rank_identity.h), and holds the process from then on.
// Thread safety: for one thread.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/indexed_vector.h"
#include "mapcore/segment/event_record.h"
#include "mapcore/segment/segment_view.h"
#include "mapcore/step/end_watch.h"
#include "mapcore/step/held_process.h"

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
  pid_t refused_pid = 0;       // not checked again: a check takes longer than the rest of a look
  bool ready = false;          // the task part of the slot is there
  bool detached = false;       // MPI_Finalize was called
  bool ended = false;          // process, or task that never attached, is gone
  bool closed = false;         // the slot was looked at after the end: nothing more will come
  bool watched = false;        // `watch_` tells the end of the held process
  bool no_descriptor = false;  // the mapper may not open more files, so it cannot follow the rank
  std::uint32_t notes = 0;     // ONDELOC_NOTE_*
  ondeloc_cell modelled{};     // the part of its row that a model of collectives has added
  std::string library;
  int threads = 0;  // of the process at the end of MPI_Init; 0: unknown
  bool attached() const { return process != 0; }
  bool done() const { return detached || ended; }
  // Its CPUs are free for other ranks. A rank that the mapper cannot follow may run on.
  bool left() const { return detached || (ended && !no_descriptor); }
  bool movable() const { return attached() && !done(); }
  // The rank counts in memory of its own (transport=pmix) and ended without sending its last
  // counts.
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
  // Appends the entries by which poll(2) learns that a process with a pidfd has ended: one entry
  // for all processes, or one for each if that is not possible. Call note_ended with the same array
  // afterwards; it returns true if a process has ended.
  void add_to_poll(std::vector<pollfd>& fds) const;
  bool note_ended(const std::vector<pollfd>& fds);

  // Closes the descriptors of all ranks, for the last report; nothing more is noticed afterwards.
  void stop_following();

  bool all_ready() const;    // every task has written its slot
  bool all_done() const;     // every rank has detached or ended
  bool nobody_left() const;  // the same, tasks that never came not waited for
  bool any_attached() const;
  int count() const { return static_cast<int>(states_.size()); }
  RankState& at(LocalRank rank) { return states_[rank]; }
  const RankState& at(LocalRank rank) const { return states_[rank]; }
  const IndexedVector<LocalRank, RankState>& all() const { return states_; }
  Ids<LocalRank> ids() const { return states_.ids(); }

 private:
  bool claim(RankState& state, pid_t pid);
  static bool follow(RankState& state, const SegmentView::RankPart& part);
  void watch(RankState& state);
  bool note_unwatched(const std::vector<pollfd>& fds);
  IndexedVector<LocalRank, RankState> states_;
  EndWatch watch_;
};

}  // namespace ondeloc
