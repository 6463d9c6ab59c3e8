// SPDX-License-Identifier: Apache-2.0
// Latency and bandwidth of messages between two CPUs, measured with two threads. Thread safety: one
// call at a time.
#pragma once

#include "mapcore/base/ids.h"
#include "mapcore/base/result.h"

namespace ondeloc {

struct PairTimes {
  double latency = 0;    // seconds, one way of one cache line
  double bandwidth = 0;  // bytes per second, copied out of memory that the sender has written
};

enum class HomeOf { kSender, kReceiver };  // who touches the memory first

// A pair that does not answer gets this many times its seconds.
inline constexpr double kPairLimit = 2;

// Medians of short rounds, repeated until they are stable, for at most about `seconds`. `spread`:
// relative distance of the quartiles of the latencies. Errors: a thread cannot start or run on its
// CPU.
struct PairResult {
  PairTimes times;
  double spread = 0;
  bool is_stable = true;  // false: the time was over first
};
Result<PairResult> measure_pair(PuOs sender, PuOs receiver, HomeOf home, double seconds);

}  // namespace ondeloc
