// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/binder.h"

#include <sched.h>

#include <cerrno>
#include <optional>
#include <set>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/move_order.h"
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

// Keeps the calling thread on one CPU. Without effect if the thread may not use the CPU.
class StaysOn {
 public:
  explicit StaysOn(int cpu) {
    if (cpu < 0) return;
    auto before = get_affinity(0);
    CpuSet one;
    one.set(PuOs(cpu));
    if (before && set_affinity(0, one)) before_ = std::move(*before);
  }
  ~StaysOn() {
    if (before_) (void)set_affinity(0, *before_);
  }
  StaysOn(const StaysOn&) = delete;
  StaysOn& operator=(const StaysOn&) = delete;

 private:
  std::optional<CpuSet> before_;
};

// Plans what a pass does with the thread of process number `process`.
void plan_thread(pid_t tid, const ProcessMove& move, std::size_t process, BindResult& result,
                 std::vector<MaskChange>& plan) {
  const auto mask = get_affinity(tid);
  if (!mask) return;
  ++result.threads;
  // A thread that was started by a thread moved a moment ago has its new mask, which may be part of
  // the old slot as well.
  if (*mask == move.to) return;
  const bool is_lost = !move.widened.empty() && *mask == move.widened;
  CpuSet target = is_lost ? move.to : relocate_mask(*mask, move.from, move.to);
  if (!target.empty())
    plan.push_back({tid, *mask, std::move(target), process});
  else if (!mask->is_subset_of(move.to))
    ++result.left_alone;
}

// True if the process has threads that were not seen before.
bool plan_new_threads(const ProcessMove& move, std::size_t process, std::set<pid_t>& seen,
                      BindResult& result, std::vector<MaskChange>& plan) {
  if (move.to.empty()) return false;
  bool news = false;
  for (const pid_t tid : read_threads(move.pid)) {
    if (!seen.insert(tid).second) continue;
    news = true;
    plan_thread(tid, move, process, result, plan);
  }
  return news;
}

void move_thread(const MaskChange& change, BindResult& result) {
  const Status set = set_affinity(change.tid, change.to);
  if (set) {
    ++result.moved;
  } else if (set.error().code() != ESRCH) {
    ++result.failed;
    result.error = set.error().code();
  }
}

void move_threads(std::span<MaskChange> plan, std::vector<BindResult>& results) {
  const int cpu = order_changes(plan, sched_getcpu());
  const StaysOn own(plan.size() > 1 ? cpu : -1);
  for (const MaskChange& change : plan) move_thread(change, results[change.process]);
}

}  // namespace

std::vector<BindResult> move_processes(std::span<const ProcessMove> moves) {
  // A process that starts threads faster than this is left to the next interval.
  constexpr int kMostPasses = 16;
  std::vector<BindResult> results(moves.size());
  std::set<pid_t> seen;
  bool news = true;
  for (int pass = 0; pass < kMostPasses && news; ++pass) {
    std::vector<MaskChange> plan;
    news = false;
    for (std::size_t i = 0; i < moves.size(); ++i)
      news = plan_new_threads(moves[i], i, seen, results[i], plan) || news;
    move_threads(plan, results);
  }
  return results;
}

BindResult move_process(pid_t pid, const CpuSet& from, const CpuSet& to) {
  const ProcessMove move{pid, from, to, {}};
  return move_processes(std::span(&move, 1)).front();
}

}  // namespace ondeloc
