// SPDX-License-Identifier: Apache-2.0
// From the mapper's state to the report at the end of the step.
#pragma once

#include <string>

#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/mapper/run.h"
#include "mapcore/report/report.h"

namespace ondeloc {

struct MapperState {
  const MapperConfig& config;
  const SegmentView& view;
  const Machine& machine;
  const Ranks& ranks;
  const Counters& counters;
  Placement* placement;  // nullptr when no slots could be made
};

// Fills everything but intervals, events, remaps and times, which the loop keeps itself.
void collect_report(const MapperState& state, Report& report);

// One line of at most 200 characters for --ondeloc=...,verbose.
std::string summary_line(const Report& report);

}  // namespace ondeloc
