// SPDX-License-Identifier: Apache-2.0
// Turns the CPUs that Slurm gave the tasks of a step into the slots that mappings permute.
//
//   disjoint masks          the masks are the slots. If they differ in width, `uneven` is set: a
//                           rank in the place of a narrower mask would lose CPUs
//   one mask shared by all  the mask is cut into slots of at least cpus_per_task PUs. The slots are
//                           as wide as possible while enough of them fit inside one last-level
//                           cache each, else inside one NUMA node each. The slots are whole cores
//                           while there are enough cores, then threads, with one thread of each
//                           core before the second of any core. Slots wider than cpus_per_task are
//                           preferred: a rank would otherwise lose the CPUs that it had beside
//                           these. Slots span nodes if cpus_per_task is 1, or more than each rank
//                           can have, and if more than a quarter of the PUs would otherwise be idle
//                           (two ranks on four nodes). If there are several caches and fewer ranks
//                           than slots, only spread_slots() of them are used
//   anything else           the slots are the multiset of the masks (--cpu-bind=sockets, ldoms,
//                           partly overlapping masks). `uneven` is set if the masks differ in width
//                           and overlap, or if one rank's part of its CPUs is twice another's
//   more ranks than PUs     each rank has all PUs of its NUMA node (of its last-level cache, see
//                           shares_caches), and `oversubscribed` is set: a rank that is bound to
//                           one PU waits whenever another rank or another job runs there, even if
//                           the PU beside is idle
//
// `idle` PUs become further slots, as wide as any rank's part of its CPUs. The caller passes idle
// PUs only if the kernel enforces the step's cpuset. No slot ever holds a PU outside the masks and
// `idle`. Thread safety: pure function.
#pragma once

#include <span>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/map/mapping.h"

namespace ondeloc {

struct SlotRequest {
  std::span<const CpuSet> masks;  // per local rank, none empty
  int cpus_per_task = 1;          // PUs that a rank asked for, >= 1
  CpuSet idle;                    // PUs of the step that are in no mask; empty: do not widen
  // True: the masks come from a computed mapping, and a mask that all ranks have inside one NUMA
  // node is the place that the mapping gave them. False: such a mask belongs to a step without a
  // binding.
  bool bound = false;
};

struct SlotPlan {
  Machine machine;              // restricted to the PUs of the slots
  SlotSet slots;                // at least one per rank
  Mapping initial;              // where Slurm put the ranks; shared masks: dealt evenly, in order
  bool shared = false;          // all ranks had one mask: no rank is bound to a slot yet
  bool oversubscribed = false;  // more ranks than PUs
  bool uneven = false;          // masks of different widths that must not be exchanged
};

// Errors: no mask at all, or a mask with no PU of this machine (the sentence names the rank).
Result<SlotPlan> plan_slots(const Machine& machine, const SlotRequest& request);

// Cuts `pus` into slots of `size` PUs, whole cores if `whole_cores`: first inside one last-level
// cache, then inside one NUMA node, last from the leftovers of several nodes. Shared masks and the
// offline command line use these slots.
SlotSet cut_slots(const Machine& machine, const CpuSet& pus, int size, bool whole_cores);

// Returns the PUs of `allowed` that may become slots beside the ranks' PUs `used`: those of cores
// without a rank, and of each core no more threads than the ranks use of a core. Ranks that have
// one thread a core (--threads-per-core=1, --hint=nomultithread) never share a core.
CpuSet idle_pus(const Machine& machine, const CpuSet& used, const CpuSet& allowed);

// Returns the slots for `ranks` ranks of cpus_per_task PUs on all of `pus`; more slots than ranks
// if there is room inside the last-level caches. Otherwise only as many slots as ranks: as few as
// possible are in two nodes, and few of the others in two last-level caches. No slots if there are
// no ranks.
SlotSet slots_for(const Machine& machine, const CpuSet& pus, int ranks, int cpus_per_task);

// Returns as many of the slots as there are ranks, evenly over nodes and caches. Ranks that share
// one mask get their slots in the same way.
SlotSet spread_slots(const SlotSet& slots, int ranks);

}  // namespace ondeloc
