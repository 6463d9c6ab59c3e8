// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_lama.h"

#include <fmt/format.h>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/lama.h"
#include "mapcore/map/shared_slots.h"
#include "mapcore/map/slots.h"

namespace ondeloc {
namespace {

// Each hardware thread is a slot, if ranks share equally often, so that the layout chooses. Ranks
// of several CPUs have slots of that width, unless the layout gives the width.
SlotSet slots_of(const BindArguments& call, const Machine& machine, const CpuSet& usable,
                 bool has_width) {
  const int cpus = usable.count(), ranks = call.local_ranks;
  const auto each = static_cast<int>(call.cpus_per_task);
  if (has_width || each <= 1 || each > cpus)
    return shared_slots(machine, usable, (ranks + cpus - 1) / cpus * cpus, 1);
  if (ranks <= cpus / each) return slots_for(machine, usable, ranks, each);
  return shared_slots(machine, usable, ranks, each);
}

}  // namespace

Result<CpuSet> cpus_by_lama(const BindArguments& call, const Machine& whole, const CpuSet& usable) {
  const auto layout = parse_lama(split_algorithm(call.file).argument);
  if (!layout) return layout.error();
  if (call.local_rank < 0 || call.local_rank >= call.local_ranks)
    return Error(
        fmt::format("there is no task {} of {} on this node", call.local_rank, call.local_ranks));
  if (!usable.intersects(whole.all_pus()))
    return Error(
        fmt::format("the step may use none of the CPUs {} of this node; see srun --cpu-bind",
                    whole.all_pus().to_list()));
  const Machine machine = restrict_machine(whole, usable);
  const SlotSet slots = slots_of(call, machine, usable, layout->has_bind);
  CommMatrix nothing;
  nothing.ranks = call.local_ranks;
  const Traffic traffic(nothing);
  const CostModel model;
  const Mapping none;
  const auto mapping =
      compute_mapping(call.file, {machine, slots, traffic, model, none, {}, &whole});
  if (!mapping) return mapping.error();
  const CpuSet& pus = slots[(*mapping)[LocalRank(call.local_rank)]].pus;
  return layout->has_bind ? lama_binding(machine, layout->bind, PuOs(pus.first())) : pus;
}

}  // namespace ondeloc
