// SPDX-License-Identifier: Apache-2.0
// A run as the online loop would have gone: for `ondeloc replay` and `ondeloc explain`. Thread
// safety: for one thread.
#pragma once

#include <string>
#include <vector>

#include "mapcore/apps/workload.h"
#include "mapcore/decide/replay.h"
#include "mapcore/decide/verdict.h"

namespace ondeloc::cli {

struct ReplaySetup {
  MachineOptions machine;
  SlotOptions slots;
  std::string start;  // file of the mapping at the start; empty: rank i on the i-th slot
  ReplayOptions loop;
  const CLI::Option* longest = nullptr;          // --max-interval
  std::vector<const CLI::Option*> options = {};  // of the command that only a replay obeys
};
// `length`: the names of the option for the length of an interval.
void add_replay_options(CLI::App& command, ReplaySetup& setup, const std::string& length);
// Error: the user gives one of these options, and the file `name` tells what was decided.
Status check_without_replay(const ReplaySetup& setup, const std::string& name);

struct ReplayedSource {
  Replay replay;
  Layout layout;                   // `previous`: the mapping at the start
  std::vector<CommMatrix> series;  // of each interval
};
Result<ReplayedSource> replay_with_layout(const ReplaySetup& setup, TrafficSource& source,
                                          const std::string& file);

// `source` is opened from `file`.
Result<Replay> replay_source(const ReplaySetup& setup, TrafficSource& source,
                             const std::string& file);
Run run_of(const Replay& replay, const ReplayOptions& loop);

// "verdict: ...", in lines of at most 80 columns.
std::string verdict_text(const Run& run);
std::string verdict_text(const Prospect& prospect);

}  // namespace ondeloc::cli
