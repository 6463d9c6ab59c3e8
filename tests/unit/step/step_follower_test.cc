// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/step_follower.h"

#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/step/fake_step.h"

using namespace ondeloc;

namespace {

// The CPUs of a follower that was started on `start`, after it has looked at all ranks.
CpuSet cpus_after_a_look(int segment, const CpuSet& start) {
  CpuSet cpus;
  std::thread([&] {  // the other tests of this program keep their CPUs
    if (!set_affinity(0, start)) return;
    StepFollower follower(*SegmentView::open(segment), -1);
    follower.refresh(StepFollower::Clock::duration::zero());
    cpus = *get_affinity(0);
  })
      .join();
  return cpus;
}

}  // namespace

TEST_CASE("the mapper runs on the CPUs of all ranks, not on those of the first alone", "[cpus]") {
  const CpuSet first = *CpuSet::parse_list("0"), second = *CpuSet::parse_list("1");
  const CpuSet both = first | second;
  if (!both.is_subset_of(*get_affinity(0))) ONDELOC_SKIP("needs CPUs 0 and 1");
  const fake_step::Step spread({first, second, first, second});
  CHECK(cpus_after_a_look(spread.segment.get(), first) == both);
  const fake_step::Step narrow({first, first, first, first});
  CHECK(cpus_after_a_look(narrow.segment.get(), first) == first);
  CHECK(cpus_after_a_look(narrow.segment.get(), both) == both);  // of no rank, but of the step
}
