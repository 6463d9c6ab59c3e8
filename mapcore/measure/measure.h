// SPDX-License-Identifier: Apache-2.0
// The measurement behind `ondeloc measure`: latency and bandwidth of messages for each pair of
// levels, bandwidth of each memory alone and with all others, of each link and of the port of a
// last-level cache. Thread safety: one call at a time; it starts threads on all CPUs of `machine`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/measure/buffer_size.h"
#include "mapcore/measure/memory_rate.h"
#include "mapcore/measure/ping_pong.h"
#include "mapcore/measure/time_budget.h"
#include "mapcore/measure/timing.h"
#include "mapcore/topology/machine_file.h"

namespace ondeloc {

// The clock and the functions that measure. Tests put made-up ones in their place.
struct Instruments {
  std::function<double()> now = now_seconds;
  std::function<Result<PairResult>(PuOs, PuOs, HomeOf, double)> pair = measure_pair;
  std::function<Result<std::vector<double>>(std::span<const Reader>, std::size_t, ReadTime)> reads =
      measure_reads;
  std::function<std::optional<double>()> load = load_of_last_minute;
};

struct MeasureOptions {
  double seconds = kMeasureSeconds;  // at most, for everything
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  FreeMemory free_on = [](int) { return std::nullopt; };
  std::function<bool(int node)> may_use_memory = [](int) { return true; };  // by the cgroup
  FreeInCgroup free_in_cgroup = [] { return std::nullopt; };
  std::optional<double> cpu_quota;  // of the cgroup, in CPUs; empty: there is none
  Instruments instruments = {};
};

struct PuPair {
  PuOs a, b;
  double distance = 0;  // of their NUMA nodes, the mean of both ways; 0 if unknown
};
// A few pairs of different cores whose smallest common domain this is, spread over the machine and
// over the distances: each distance has its share of the pairs.
std::vector<PuPair> pairs_of_domain(const Machine& machine, Domain domain);

// `machine`: restricted to the CPUs that may be used; `whole`: the machine that the file is of.
// What the time is too short for is left out, and the notes of the file say so. Errors: no thread
// can run, or a number that cannot be (the node is far too busy).
Result<MachineFile> measure_machine(const Machine& whole, const Machine& machine,
                                    const MeasureOptions& options);

}  // namespace ondeloc
