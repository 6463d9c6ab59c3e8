// SPDX-License-Identifier: Apache-2.0
// A node for tests of the measurement: made-up CPUs, memory and clock. Every step takes as long as
// it may, and each CPU that touches memory first takes its time for that.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "mapcore/measure/measure.h"
#include "mapcore/topology/load.h"

namespace ondeloc {

struct MadeNode {
  explicit MadeNode(const char* topology) : machine(*load_machine(topology)) {}
  MadeNode(const MadeNode&) = delete;
  MadeNode& operator=(const MadeNode&) = delete;

  Result<MachineFile> measure() {
    MeasureOptions options;
    options.free_on = [this](int node) { return free_on(node); };
    options.may_use_memory = [this](int node) { return may_use_memory(node); };
    options.free_in_cgroup = [this] { return free_in_cgroup; };
    options.cpu_quota = cpu_quota;
    options.instruments = {[this] { return clock; },
                           [this](PuOs a, PuOs b, HomeOf, double seconds) {
                             return pair({a, b}, seconds);
                           },
                           [this](std::span<const Reader> readers, std::size_t bytes,
                                  ReadTime time) { return reads(readers, bytes, time); },
                           [this] { return load; }};
    return measure_machine(machine, restrict_machine(machine, machine.allowed), options);
  }

  Result<PairResult> pair(const PuPair& cpus, double seconds) {
    clock += pairs_overrun * seconds;
    return PairResult{{latency_of(cpus), 1e10}, spread_of(cpus), pairs_are_stable};
  }

  Result<std::vector<double>> reads(std::span<const Reader> readers, std::size_t bytes,
                                    ReadTime time) {
    most_memory = std::max(most_memory, readers.size() * bytes);
    std::map<PuOs, double> touched;
    double longest = 0;
    for (const Reader& reader : readers)
      longest = std::max(longest, touched[reader.home] += static_cast<double>(bytes) / touch_rate);
    if (longest > time.limit - time.seconds) {
      clock += time.limit + release;
      ++left_out;
      return std::vector<double>();
    }
    clock += longest + time.seconds + release;
    return std::vector<double>(readers.size(), 1e9);
  }

  Machine machine;
  FreeMemory free_on = [](int) { return std::nullopt; };
  std::function<bool(int)> may_use_memory = [](int) { return true; };
  std::optional<std::uint64_t> free_in_cgroup;
  std::optional<double> cpu_quota;
  std::size_t most_memory = 0;  // bytes that a step has taken
  double clock = 1000;
  double pairs_overrun = 2;  // of the seconds that a pair is given
  bool pairs_are_stable = true;
  std::function<double(const PuPair&)> latency_of = [](const PuPair&) { return 1e-7; };
  std::function<double(const PuPair&)> spread_of = [](const PuPair&) { return 0; };
  std::optional<double> load = 0;  // before the measurement
  double touch_rate = 1e9;         // bytes per second of one CPU
  int left_out = 0;                // reads whose memory could not be touched in time
  double release = 0.01;           // seconds until the memory of a step is free again
};

}  // namespace ondeloc
