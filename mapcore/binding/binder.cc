// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/binder.h"

#include <cerrno>
#include <set>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {

CpuSet relocate_mask(const CpuSet& mask, const CpuSet& from, const CpuSet& to) {
  if (mask == from) return to;
  if (mask.empty() || !mask.is_subset_of(from)) return {};
  const auto old_places = from.to_vector(), new_places = to.to_vector();
  CpuSet moved;
  for (std::size_t at = 0; at < old_places.size(); ++at) {
    if (mask.test(old_places[at])) moved.set(new_places[at % new_places.size()]);
  }
  return moved;
}

CpuSet left_of_slot(const CpuSet& bound, const CpuSet& cpuset, const CpuSet& main) {
  const CpuSet left = bound & cpuset;
  return !left.empty() && main.is_subset_of(left) ? left : main;
}

namespace {

void move_thread(pid_t tid, const CpuSet& from, const CpuSet& to, BindResult& result) {
  const auto mask = get_affinity(tid);
  if (!mask) return;
  ++result.threads;
  // Started from a thread moved a moment ago: its mask may lie inside the old slot as well.
  if (*mask == to) return;
  const CpuSet target = relocate_mask(*mask, from, to);
  if (target.empty()) {
    // One that started from a thread moved a moment ago is where it should be.
    if (!mask->is_subset_of(to)) ++result.left_alone;
    return;
  }
  const Status set = set_affinity(tid, target);
  if (set) {
    ++result.moved;
  } else if (set.error().code() != ESRCH) {
    ++result.failed;
    result.error = set.error().code();
  }
}

}  // namespace

BindResult move_process(pid_t pid, const CpuSet& from, const CpuSet& to) {
  constexpr int kMostPasses =
      16;  // a process that starts threads faster than that is left to the next interval
  BindResult result;
  if (to.empty()) return result;
  std::set<pid_t> seen;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    bool news = false;
    for (const pid_t tid : read_threads(pid)) {
      if (!seen.insert(tid).second) continue;
      news = true;
      move_thread(tid, from, to, result);
    }
    if (!news) break;
  }
  return result;
}

}  // namespace ondeloc
