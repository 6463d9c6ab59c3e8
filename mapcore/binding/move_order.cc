// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/move_order.h"

#include <algorithm>

namespace ondeloc {
namespace {

// The CPU that the changes free, -1 if there is none.
int freed_cpu(std::span<const MaskChange> changes, int here) {
  int first = -1;
  for (const MaskChange& change : changes) {
    const CpuSet freed = change.from - change.to;
    if (here >= 0 && freed.test(PuOs(here))) return here;
    if (first < 0) first = freed.first();
  }
  return first;
}

}  // namespace

int order_changes(std::span<MaskChange> changes, int here) {
  const int cpu = freed_cpu(changes, here);
  if (cpu < 0) return cpu;
  const auto turn = [own = PuOs(cpu)](const MaskChange& change) {
    if (change.to.test(own)) return 2;
    return change.from.test(own) ? 0 : 1;
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](const MaskChange& a, const MaskChange& b) { return turn(a) < turn(b); });
  return cpu;
}

}  // namespace ondeloc
