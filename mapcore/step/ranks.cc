// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "mapcore/binding/proc.h"
#include "mapcore/step/rank_identity.h"

namespace ondeloc {
namespace {

// Tells after a failure whether its cause was a lack of descriptors, without which /proc cannot be
// read either.
bool out_of_descriptors() {
  const UniqueFd probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return !probe.valid() && (errno == EMFILE || errno == ENFILE);
}

bool is_mine(pid_t pid) {
  const auto uid = read_process_uid(pid);
  return uid && *uid == getuid();
}

// The rank of a container may have left its task: then its environment tells whose rank it is.
bool is_of_task(pid_t pid, pid_t task) {
  return is_mine(pid) && (descends_from(pid, task) || is_same_rank(pid, task));
}

// Holds the task first and then compares the start time: no pid can be recycled in
// between.
void take_task(RankState& state, const ondeloc_slot& slot) {
  state.ready = true;
  state.world = WorldRank(static_cast<int>(slot.world_rank));
  state.initial = CpuSet::from_words(std::span(slot.mask, slot.mask_words));
  state.task = slot.task_pid;
  state.task_hold = HeldProcess(slot.task_pid);
  const auto stat = read_process_stat(slot.task_pid);
  const bool same = stat && (slot.task_start == 0 || stat->start == slot.task_start);
  if (slot.task_pid <= 1 || !state.task_hold.valid() || !same || !is_mine(slot.task_pid)) {
    state.no_descriptor = out_of_descriptors();
    state.task_hold = {};
    state.ended = true;
  }
}

}  // namespace

// True if the rank has detached since the last look.
bool Ranks::follow(RankState& state, const SegmentView::RankPart& part) {
  state.notes |= part.notes;
  state.modelled = part.modelled;
  if (part.rank_state != ONDELOC_RANK_DETACHED || !state.attached() || state.detached) return false;
  state.detached = true;
  return true;
}

void Ranks::watch(RankState& state) {
  state.watched = watch_.add(state.hold().fd(), static_cast<int>(&state - states_.data()));
}

bool Ranks::claim(RankState& state, pid_t pid) {
  if (pid <= 1 || state.attached() || !state.ready || pid == state.refused_pid) return false;
  const bool held = pid == state.task && state.task_hold.valid();
  HeldProcess hold = held ? HeldProcess() : HeldProcess(pid);
  if (!(held || hold.valid()) || !is_of_task(pid, state.task)) {
    const bool exhausted = out_of_descriptors();
    state.no_descriptor = state.no_descriptor || exhausted;
    if (!held && !hold.valid()) return false;
    state.refused = true;
    if (!exhausted) state.refused_pid = pid;
    return false;
  }
  state.process = pid;
  state.process_hold = std::move(held ? state.task_hold : hold);
  state.task_hold = {};
  if (!held) watch(state);
  return true;
}

bool Ranks::refresh(const SegmentView& view) {
  bool changed = false;
  for (int i = 0; i < count(); ++i) {
    RankState& state = at(LocalRank(i));
    if (state.closed) continue;
    state.ended = state.ended || state.hold().seen_ended();
    if (state.attached() && !state.ended && !state.library.empty()) {
      changed = follow(state, view.rank_part(i)) || changed;
      continue;
    }
    const ondeloc_slot slot = view.slot(i);
    if (!state.ready && slot.task_state == ONDELOC_TASK_READY) {
      take_task(state, slot);
      watch(state);
      changed = true;
    }
    if (state.library.empty()) state.library = slot.library;
    if (slot.rank_state != ONDELOC_RANK_NONE && !state.ended)
      changed = claim(state, slot.owner_pid) || changed;
    // It is too late to check the process, and nothing will be done to it.
    if (slot.rank_state != ONDELOC_RANK_NONE && state.ended && !state.attached() && !state.refused)
      state.gone = slot.owner_pid;
    state.closed = state.ended && state.ready;
    changed =
        follow(state,
               {slot.rank_state, slot.notes, {slot.modelled_bytes, slot.modelled_messages}}) ||
        changed;
  }
  return changed;
}

bool Ranks::attach(const SegmentView& view, const ondeloc_record_attach& told) {
  refresh(view);
  const int local = view.local_of_world(told.head.world_rank);
  if (local < 0) return false;
  RankState& state = at(LocalRank(local));
  state.notes |= told.notes;
  if (state.library.empty()) state.library = told.library;
  state.threads = static_cast<int>(std::min<std::uint32_t>(told.threads, INT32_MAX));
  return claim(state, static_cast<pid_t>(told.head.pid));
}

void Ranks::detach(const SegmentView& view, WorldRank world) {
  const int local = view.local_of_world(static_cast<std::uint32_t>(world.value));
  if (local >= 0 && at(LocalRank(local)).attached()) at(LocalRank(local)).detached = true;
}

void Ranks::add_to_poll(std::vector<pollfd>& fds) const {
  bool any = false;
  for (const RankState& state : states_) {
    const int fd = state.hold().fd();
    any = any || state.watched;
    // poll(2) refuses more entries than the process may have files, those with -1 too.
    if (!state.ended && state.ready && !state.watched && fd >= 0) fds.push_back({fd, POLLIN, 0});
  }
  if (any) fds.push_back({watch_.fd(), POLLIN, 0});
}

bool Ranks::note_unwatched(const std::vector<pollfd>& fds) {
  bool any = false;
  auto entry = fds.begin();  // in the order of the ranks, as they were added
  for (RankState& state : states_) {
    const int fd = state.hold().fd();
    if (state.ended || !state.ready || state.watched || fd < 0) continue;
    while (entry != fds.end() && entry->fd != fd) ++entry;
    if (entry == fds.end()) break;
    state.ended = entry->revents != 0;
    any = any || state.ended;
  }
  return any;
}

bool Ranks::note_ended(const std::vector<pollfd>& fds) {
  bool any = note_unwatched(fds);
  for (const int rank : watch_.take_ended()) {
    at(LocalRank(rank)).ended = true;
    any = true;
  }
  return any;
}

void Ranks::stop_following() {
  for (RankState& state : states_) {
    state.task_hold = HeldProcess();
    state.process_hold = HeldProcess();
  }
}

bool Ranks::all_ready() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const RankState& state) { return state.ready; });
}

bool Ranks::all_done() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const RankState& state) { return state.ready && state.done(); });
}

bool Ranks::nobody_left() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const RankState& state) { return !state.ready || state.done(); });
}

bool Ranks::any_attached() const {
  return std::any_of(states_.begin(), states_.end(),
                     [](const RankState& state) { return state.attached(); });
}

}  // namespace ondeloc
