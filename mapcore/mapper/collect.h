// SPDX-License-Identifier: Apache-2.0
// From the mapper's state to the report at the end of the step.
#pragma once

#include <string>

#include "mapcore/decide/verdict.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/gpu_watch.h"
#include "mapcore/mapper/mapping_round.h"
#include "mapcore/mapper/page_watch.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/mapper/thread_arranger.h"
#include "mapcore/report/report.h"
#include "mapcore/step/config.h"

namespace ondeloc {

struct MapperState {
  const MapperConfig& config;
  const SegmentView& view;
  const Machine& machine;
  const Ranks& ranks;
  const Counters& counters;
  Placement* placement;           // nullptr when no slots could be made
  const MappingRound* round;      // as placement
  const GpuWatch* gpus;           // as placement
  const ThreadArranger* threads;  // nullptr with threads=slot
  const PageWatch* pages;
  bool live = false;  // the report lacks the matrix, which grows with the square of the ranks
};

// Fills everything but intervals, events, remaps and times, which the loop keeps itself.
void collect_report(const MapperState& state, Report& report);

// The run that a report tells of, for verdict().
Run run_of(const Report& report);

// The line that --ondeloc=...,verbose prints, at most 200 characters.
std::string summary_line(const Report& report);

// The line of log=line in plugstack.conf: program, moves, cost, and the verdict of an online step.
std::string log_line(const Report& report);

}  // namespace ondeloc
