// SPDX-License-Identifier: Apache-2.0
// The CPU masks of the ranks: what each was given, what others made of it since, and who still has
// to be bound. Thread safety: for one thread. Nothing here is fatal; what a user should know goes
// to `notes`.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mapcore/base/indexed_vector.h"
#include "mapcore/binding/binder.h"
#include "mapcore/mapper/step_notes.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

struct RankBinding {
  CpuSet expected;          // mask that the rank was last given, at first by Slurm
  CpuSet start;             // CPUs of its first slot; Slurm's mask if no rank is ever bound
  CpuSet foreign;           // mask of others outside `expected`, left alone; empty: none
  bool needs_bind = false;  // to be bound to its slot as soon as it attaches
  bool inspected = false;   // its mask was looked at since it attached
  bool restored = false;    // its mask was put back since the last remap
  bool stuck = false;       // a move failed: it stays where it is until the step's CPUs change
  int migrations = 0;       // times that its NUMA node changed
};

struct RankMove {
  LocalRank rank;
  CpuSet to;
  CpuSet widened = {};  // as in ProcessMove
};

class RankBindings {
 public:
  using CpusOf = std::function<const CpuSet&(LocalRank)>;

  RankBindings() = default;
  explicit RankBindings(const std::vector<CpuSet>& masks);

  RankBinding& operator[](LocalRank rank) { return bindings_[rank]; }
  const RankBinding& operator[](LocalRank rank) const { return bindings_[rank]; }
  // The mask that the rank was last given; if others bound it outside of that mask and it was left
  // alone, the mask that it was seen with.
  const CpuSet& mask_of(LocalRank rank) const {
    const RankBinding& binding = bindings_[rank];
    return binding.foreign.empty() ? binding.expected : binding.foreign;
  }
  bool any_needs_bind() const;

  // No rank is ever bound from now on.
  void freeze();
  bool is_frozen() const { return frozen_; }

  // Binds attached ranks that need it to their slots, and inspects each of the others once.
  void bind_attached(Ranks& ranks, const CpusOf& cpus_of, StepNotes& notes);
  // A rank that was bound elsewhere by a wrapper, its runtime or itself is put back once per remap,
  // then left alone. Both are noted.
  // Looks at `most` ranks in turn: asking the kernel for the masks of many takes longer than
  // reading their counters.
  void restore(Ranks& ranks, std::size_t most, StepNotes& notes);
  void restore_one(LocalRank rank, const RankState& state, StepNotes& notes);
  // Binds movable ranks. Returns those that were bound; the others are tried again. The masks of
  // all threads of all ranks are set in one go, so that ranks that exchange CPUs hardly share them.
  std::vector<LocalRank> bind(std::span<const RankMove> moves, const Ranks& ranks,
                              StepNotes& notes);

 private:
  void bind_newcomer(LocalRank rank, const Ranks& ranks, const CpuSet& to, StepNotes& notes);
  void note_replaced(LocalRank rank, WorldRank world, StepNotes& notes);

  IndexedVector<LocalRank, RankBinding> bindings_;
  std::size_t next_restored_ = 0;
  bool frozen_ = false;
};

}  // namespace ondeloc
