// SPDX-License-Identifier: Apache-2.0
// A small real segment for tests: three local ranks 4, 6 and 5 of a world of eight.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>

#include "mapcore/segment/segment_create.h"

inline ondeloc::SegmentPlan small_plan() {
  static const std::array<std::uint32_t, 3> world{4, 6, 5};
  ondeloc::SegmentPlan plan;
  plan.world_ranks = 8;
  plan.world_of_local = world;
  plan.job_id = 17;
  plan.uid = getuid();
  plan.gid = getgid();
  return plan;
}
