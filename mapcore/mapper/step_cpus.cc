// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/step_cpus.h"

#include "mapcore/binding/cgroup.h"
#include "mapcore/map/slots.h"

namespace ondeloc {

std::vector<CpuSet> initial_masks(const Ranks& ranks) {
  std::vector<CpuSet> masks;
  for (const RankState& state : ranks.all()) masks.push_back(state.initial);
  return masks;
}

CpuSet enforced_cpuset(const Ranks& ranks) {
  for (const RankState& state : ranks.all()) {
    if (state.ended) continue;
    const auto step = read_step_cpuset(state.attached() ? state.process : state.task);
    return step && step->enforced ? step->cpus : CpuSet();
  }
  return {};
}

CpuSet idle_cpus(const Machine& machine, const std::vector<CpuSet>& masks, const CpuSet& cpuset) {
  CpuSet used;
  for (const CpuSet& mask : masks) used |= mask;
  return idle_pus(machine, used, cpuset);
}

}  // namespace ondeloc
