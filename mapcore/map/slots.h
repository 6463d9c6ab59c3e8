// SPDX-License-Identifier: Apache-2.0
// From the CPUs that Slurm gave the tasks of a step to the slots that mappings permute.
//
//   disjoint masks          the masks are the slots; where they differ in width, `uneven` is set:
//                           whoever takes another's place would lose CPUs
//   one mask shared by all  cut into slots as wide as inside one NUMA node there are enough of, at
//                           least cpus_per_task PUs: whole cores while there are enough, then
//                           threads, one of each core before the second of any. Not just
//                           cpus_per_task: a rank would lose what it had beside them. Where that
//                           is 1, or more than each can have, and more than a quarter of the PUs
//                           would lie idle so (two ranks on four nodes), slots span nodes
//   anything else           the multiset of the masks (--cpu-bind=sockets, ldoms, partly
//                           overlapping masks); `uneven` where they differ in width and overlap, or
//                           one rank's part of its CPUs is twice another's
//   more ranks than PUs     slots repeat evenly; `oversubscribed` is set
//
// With `idle` PUs (the caller says so only where the kernel enforces the step's cpuset) further
// slots are made of them, as wide as any rank's part of its CPUs. No slot ever holds a PU outside
// masks and idle. Thread safety: pure function.
#pragma once

#include <span>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/map/mapping.h"

namespace ondeloc {

struct SlotRequest {
  std::span<const CpuSet> masks;  // per local rank, none empty
  int cpus_per_task = 1;          // PUs a rank asked for, >= 1
  CpuSet idle;                    // PUs of the step that are in no mask; empty: do not widen
  // The masks are of a mapping that was computed: one that all ranks have, inside a NUMA node, is
  // where they were put. False: it is what a step has that nobody bound.
  bool bound = false;
};

struct SlotPlan {
  Machine machine;  // restricted to the PUs of the slots
  SlotSet slots;    // at least one per rank
  Mapping initial;  // where Slurm put the ranks; dealt evenly, in order, where masks were shared
  bool shared = false;          // all ranks had one mask: nobody is bound to a slot yet
  bool oversubscribed = false;  // some PU belongs to two slots
  bool uneven = false;          // masks of different widths that are not to be exchanged
};

// Errors: no mask at all, or a mask with no PU of this machine (the sentence names the rank).
Result<SlotPlan> plan_slots(const Machine& machine, const SlotRequest& request);

// Slots of `size` PUs cut from `pus`: whole cores where `whole_cores`, inside one NUMA node first,
// the leftovers of several nodes last. Used where masks are shared and by the offline command line.
SlotSet cut_slots(const Machine& machine, const CpuSet& pus, int size, bool whole_cores);

// The slots for `ranks` ranks of cpus_per_task PUs on all of `pus`, as for one shared mask.
SlotSet slots_for(const Machine& machine, const CpuSet& pus, int ranks, int cpus_per_task);

// `count` slots of exactly cpus_per_task PUs, for ranks that share: those of cut_slots, each as
// often as any other, give or take one; where these leave PUs over, slots that follow each other in
// the nodes, so that this holds for the PUs of each node. Nodes with fewer PUs than that are one
// together. REQUIRES: 1 <= cpus_per_task <= pus.count().
SlotSet shared_slots(const Machine& machine, const CpuSet& pus, int count, int cpus_per_task);

}  // namespace ondeloc
