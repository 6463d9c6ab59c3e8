// SPDX-License-Identifier: Apache-2.0
// The measurement behind `ondeloc measure`: latency and bandwidth of messages for each pair of
// levels, bandwidth of each memory alone and with all others, of each link and of the port of a
// last-level cache. Thread safety: one call at a time; it starts threads on all CPUs of `machine`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mapcore/measure/buffer_size.h"
#include "mapcore/topology/machine_file.h"

namespace ondeloc {

struct MeasureOptions {
  double seconds = 20;  // about; seldom more than 30 with the default
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  FreeMemory free_on = [](int) { return std::nullopt; };
};

struct PuPair {
  PuOs a, b;
};
// A few pairs of different cores whose smallest common domain this is, spread over the machine.
std::vector<PuPair> pairs_of_domain(const Machine& machine, Domain domain);

// `machine`: restricted to the CPUs that may be used; `whole`: the machine that the file is of.
// Errors: no thread can run, or a number that cannot be (the node is far too busy).
Result<MachineFile> measure_machine(const Machine& whole, const Machine& machine,
                                    const MeasureOptions& options);

}  // namespace ondeloc
