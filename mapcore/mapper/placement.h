// SPDX-License-Identifier: Apache-2.0
// The placement of the ranks of the node: their slots, the present mapping, and the steps that
// apply a new mapping. Thread safety: for one thread. Nothing here is fatal; what a user should
// know goes to notes().
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/decide/migration.h"
#include "mapcore/map/allowed.h"
#include "mapcore/map/slots.h"
#include "mapcore/mapper/page_moves.h"
#include "mapcore/mapper/rank_bindings.h"
#include "mapcore/mapper/step_notes.h"
#include "mapcore/options/options.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

struct ApplyResult {
  std::vector<LocalRank> moved;  // CPUs changed
};

class Placement {
 public:
  // Plans the slots from the masks in `ranks`. REQUIRES: ranks.all_ready(). `real` is false for a
  // topology that is not the host's: pages are never moved then.
  static Result<Placement> plan(const Machine& machine, Ranks& ranks, int cpus_per_task,
                                Memory memory, bool real);

  const SlotPlan& slots() const { return plan_; }
  const Mapping& current() const { return current_; }
  const CpuSet& cpus_of(LocalRank rank) const { return slot_of(current_, rank).pus; }
  const RankBindings& bindings() const { return bindings_; }
  // True with memory=later and memory=auto, until pages follow.
  bool may_leave_memory() const { return pages_ == Pages::kLater; }
  // Moves that come now leave their pages behind if they may.
  void leave_memory(bool leaves) { leaves_ = leaves; }
  // True if pages follow the moves that come now.
  bool memory_follows() const { return memory_follows_unless(leaves_); }
  // The same as if leave_memory() had been called. While pages of earlier moves still wait for
  // room, memory follows.
  bool memory_follows_unless(bool leaves) const {
    const bool is_following = !has_left_ && !page_moves_.empty();
    return pages_ == Pages::kFollow || (pages_ == Pages::kLater && (!leaves || is_following));
  }
  // True if pages of moved ranks were left behind, of this rank or of any.
  bool has_left_memory(LocalRank rank) const { return has_left_ && !page_moves_.of(rank).empty(); }
  bool has_left_memory() const { return has_left_ && !page_moves_.empty(); }
  // Brings these pages to their ranks. Ranks that came back to them get what they touched and what
  // the kernel moved meanwhile. From now on pages follow at once.
  void bring_left_memory(const Ranks& ranks);
  // From now on pages follow at once, and those that were left behind with the next moves.
  void let_memory_follow();
  StepNotes& notes() { return notes_; }
  // True while a rank has still to be bound to its slot.
  bool awaits_ranks() const { return bindings_.any_needs_bind(); }

  // No rank is ever bound: decide=never, or ranks that cannot take each other's place.
  void keep_bindings();
  bool keeps_bindings() const { return bindings_.is_frozen(); }
  // The two functions of RankBindings.
  void bind_attached_ranks(Ranks& ranks);
  void restore_bindings(Ranks& ranks, std::size_t most) { bindings_.restore(ranks, most, notes_); }
  // True if `wanted` moves some rank to other CPUs.
  bool changes(const Mapping& wanted) const;
  // Returns `wanted` with pinned ranks left where they are, and no rank outside of its allowed CPUs
  // but where it is already. A rank is pinned if it has not
  // attached, is not a descendant of its task, cannot be tracked, or could not be bound in an
  // earlier move. The rank that was assigned a pinned rank's slot gets the slot meant for the
  // pinned rank.
  Mapping without_pinned(Mapping wanted, const Ranks& ranks) const;
  // From now on a rank gets CPUs that `allowed` gives it only, or stays where it is.
  void allow(AllowedCpus allowed) { allowed_ = std::move(allowed); }
  // To be called before any rank is bound. As allow(). Ranks that shared one mask get their first
  // slots accordingly; if GPUs are used and `has_unknown`, these ranks are never bound.
  void start_allowed(AllowedCpus allowed, bool has_unknown);
  // The constraints of allow(), and those of pinned ranks; empty if no rank is constrained by
  // allow().
  AllowedCpus constraints(const Ranks& ranks) const;
  // The present mapping with ranks that are outside of their allowed CPUs moved inside, if there is
  // room.
  Mapping inside_allowed(const Ranks& ranks) const { return without_pinned(current_, ranks); }
  // Binds all ranks before any page moves: copying takes seconds, and for as long a rank would
  // share its CPUs with a rank that waits to be moved. A rank that cannot be bound keeps its slot,
  // and so do the ranks that were to get this slot, one after the other.
  ApplyResult apply(const Mapping& wanted, Ranks& ranks);
  // True if the nodes have room for the pages that would follow. `memory`: of each rank, spread
  // about evenly over the nodes of its slot in `before`; empty if no pages follow.
  bool pages_fit(const Mapping& before, const Mapping& wanted,
                 std::span<const FollowingMemory> memory) const;
  // Tries again to move pages that found no room when their rank was moved.
  void follow_with_pages(const Ranks& ranks);
  // Asks that pages of a rank which are on the nodes `from` (kernel's numbers, ascending) move to
  // the nodes of its slot. follow_with_pages() moves them. Nothing is done if memory does not
  // follow.
  void bring_pages(LocalRank rank, std::span<const int> from);
  // False for a topology that is not the host's.
  bool is_real() const { return real_; }
  // True if the step's cpuset is not the cpuset that was planned for: CPUs were taken away or given
  // back.
  bool cpuset_changed(const Ranks& ranks) const;
  // Plans and places the ranks again. Empty if that cannot be done now.
  std::optional<ApplyResult> follow_cpuset(const Machine& machine, Ranks& ranks);

 private:
  // The rule for the pages of a rank that changes its NUMA node. kLater: they follow at once or are
  // left behind, see leave_memory().
  enum class Pages { kStay, kLater, kFollow };
  Pages pages_after_moves();
  // The NUMA nodes of a rank's slot, kernel's numbers.
  struct Home {
    int node = -1;  // the node that has most of the slot's CPUs
    std::vector<int> all;
  };
  const Slot& slot_of(const Mapping& mapping, LocalRank rank) const {
    return plan_.slots[mapping[rank]];
  }
  Home home_of(const Mapping& mapping, LocalRank rank) const;
  using Homes = IndexedVector<LocalRank, Home>;
  Homes homes() const;
  void add_plan_notes(std::size_t ranks);
  void note_starts(const CpuSet& known);
  bool is_pinned(LocalRank rank, const Ranks& ranks) const;
  void put_back(std::span<const RankMove> moves, const Mapping& last, const Ranks& ranks,
                std::vector<LocalRank>& moved);
  ApplyResult settle(std::vector<LocalRank> moved, const Homes& before, const Ranks& ranks);
  std::optional<SlotPlan> plan_again(const Machine& machine, const Ranks& ranks,
                                     const CpuSet& cpuset) const;

  SlotPlan plan_;
  Mapping current_;
  AllowedCpus allowed_;  // empty: any
  RankBindings bindings_;
  PageMoves page_moves_;
  int cpus_per_task_ = 1;
  CpuSet planned_for_;  // cpuset at the time of planning, empty if the kernel does not enforce it
  Memory memory_ = Memory::kAuto;
  bool real_ = true;
  Pages pages_ = Pages::kStay;
  bool leaves_ = false;    // moves that come now leave their pages
  bool has_left_ = false;  // the pages in page_moves_
  StepNotes notes_;
};

}  // namespace ondeloc
