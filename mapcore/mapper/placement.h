// SPDX-License-Identifier: Apache-2.0
// Where the ranks of the node sit and how they are moved: slots, current mapping, applying a new
// one. Thread safety: for one thread. Nothing here is fatal; what a user should know goes to
// notes().
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/map/slots.h"
#include "mapcore/mapper/page_moves.h"
#include "mapcore/mapper/ranks.h"
#include "mapcore/options/options.h"

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
  const CpuSet& cpus_of(LocalRank rank) const;  // of its slot
  // The mask the rank was last given: Slurm's, or its slot's; where others bound it outside of that
  // and it was left alone, the mask that it was seen with.
  const CpuSet& bound_to(LocalRank rank) const {
    const auto at = static_cast<std::size_t>(rank.value);
    return left_[at].empty() ? bound_[at] : left_[at];
  }
  int migrations_of(LocalRank rank) const {
    return migrations_[static_cast<std::size_t>(rank.value)];
  }
  bool memory_follows() const { return memory_follows_; }
  std::set<std::string>& notes() { return notes_; }

  // decide=never, or ranks that cannot take each other's place: nobody is bound, ever.
  void keep_bindings();
  bool keeps_bindings() const { return keeps_; }
  // Binds ranks that attached to their slot where Slurm gave all of them one mask, and looks at the
  // others once as put_back() does.
  void meet_newcomers(Ranks& ranks);
  // A rank that a wrapper, its runtime or itself bound elsewhere is put back once per remap, then
  // left alone; both are noted.
  void put_back(Ranks& ranks);
  // True when `wanted` moves somebody to other CPUs.
  bool changes(const Mapping& wanted) const;
  // `wanted`, but nobody takes the place of a rank that is there and cannot be moved: it is no
  // process of its task, is not followed, or has not attached. Who was to come goes where that one
  // was to go.
  Mapping without_fixed(Mapping wanted, const Ranks& ranks) const;
  // Binds everybody before any page moves: copying takes seconds, and as long a rank would share
  // the CPUs of one that waits for its turn.
  ApplyResult apply(const Mapping& wanted, Ranks& ranks);
  // True when the nodes have room for the pages that would follow: `bytes` of each rank, about
  // evenly on the nodes of its slot; empty where none would.
  bool pages_fit(const Mapping& wanted, std::span<const double> bytes) const;
  // Pages that had no room when their rank was moved: tries again where there are any.
  void follow_with_pages(const Ranks& ranks);
  // The step's cpuset is another than that which was planned for: CPUs taken away or back.
  bool cpuset_changed(const Ranks& ranks) const;
  // Plans and places the ranks again. Empty where that cannot be done now.
  std::optional<ApplyResult> follow_cpuset(const Machine& machine, Ranks& ranks);

 private:
  // False when no thread could be bound; tried again at the next look.
  bool move(LocalRank rank, RankState& state, const CpuSet& to);
  void bind_newcomer(LocalRank rank, RankState& state);
  void put_back_one(LocalRank rank, const RankState& state);
  void note_replaced(std::size_t at, WorldRank rank);
  // The NUMA nodes of a rank's slot, kernel's numbers.
  struct Home {
    int node;  // that has most of its CPUs
    std::vector<int> all;
  };
  Home home_of(SlotIndex slot) const;
  void count_move(std::size_t at, const Home& from, ApplyResult& result);
  void note_failures(WorldRank rank, const struct BindResult& result);

  SlotPlan plan_;
  Mapping current_;
  std::vector<CpuSet> bound_;   // mask the rank was last given, Slurm's to begin with
  std::vector<CpuSet> left_;    // mask of others outside of that, where it was left alone
  std::vector<bool> newcomer_;  // attached ranks that still have the shared mask
  std::vector<bool> met_;       // looked at since it attached
  std::vector<bool> put_back_;  // since the last remap
  std::vector<int> migrations_;
  PageMoves page_moves_;
  int cpus_per_task_ = 1;
  CpuSet planned_for_;  // cpuset at the time of planning, empty where not enforced
  Memory memory_ = Memory::kAuto;
  bool real_ = true;
  bool memory_follows_ = false;
  bool keeps_ = false;
  std::set<std::string> notes_;
};

}  // namespace ondeloc
