// SPDX-License-Identifier: Apache-2.0
// The PMIx events that a rank sends while it runs: ATTACH, a SAMPLE when the mapper asks for one,
// with the pmix transport the ROW, and DETACH. A lost event delays counts and loses none: a SAMPLE or ROW that
// could not be sent is part of the next one, and DETACH comes after a whole ROW.
// Thread safety: start and finish from the thread that attaches and detaches; reporter_notify()
// from any thread: one at a time does the work and the others return at once.
#pragma once

#include <cstdint>

#include "mapcore/segment/event_record.h"

namespace ondeloc {

struct ReporterPlan {
  std::uint32_t world_rank;
  std::uint32_t local_rank;
  std::uint32_t local_ranks;
  std::uint32_t world_ranks;
  ondeloc_cell* row;  // layout.h
  bool events;        // this process is a PMIx client
  // pmix transport: world rank of each local rank, else null. Must live on.
  const std::uint32_t* world_of_local;
  std::uint32_t interval_ms;
  bool multiple;
  int thread_level;
  std::uint32_t notes;
  const char* library;
};

void reporter_start(const ReporterPlan& plan);
void reporter_notify();
void reporter_clock();   // notifies if the interval is over
bool reporter_finish();  // whether a DETACH is on its way
bool reporter_multiple();

}  // namespace ondeloc
