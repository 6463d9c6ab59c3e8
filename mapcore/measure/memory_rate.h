// SPDX-License-Identifier: Apache-2.0
// Measures the rate at which CPUs read memory, a thread on each. Thread safety: one call at a time.
#pragma once

#include <span>
#include <vector>

#include "mapcore/base/ids.h"
#include "mapcore/base/result.h"

namespace ondeloc {

struct Reader {
  PuOs cpu;   // where the thread runs
  PuOs home;  // the CPU that touches the memory first: it lies on that CPU's node
};

struct ReadTime {
  double seconds = 0;  // of reading
  double limit = 0;    // of reading and of the first touch of the memory before it
};

// Bytes per second of each reader while all read at once, each `bytes` of its own. Empty if the
// first touch takes so long that too little of `limit` is left to read. Errors: no memory, or a
// thread cannot start or run on its CPU.
Result<std::vector<double>> measure_reads(std::span<const Reader> readers, std::size_t bytes,
                                          ReadTime time);

}  // namespace ondeloc
