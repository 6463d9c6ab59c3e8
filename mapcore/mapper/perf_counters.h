// SPDX-License-Identifier: Apache-2.0
// The key "counters" of --ondeloc: cache misses of the ranks, and bytes that the node's memory
// controllers read and wrote, both by perf events.
//
// A rank is counted from the moment in which the mapper sees it attach, with all its threads,
// outside of the kernel. The controllers count for the whole node, other jobs included; the kernel
// shows them to privileged users, or to everybody if perf_event_paranoid is 0 or less.
// Counting makes context switches of the ranks slower, so the mapper counts only if the user asks
// for it. Source of the files: Documentation/ABI/testing/sysfs-bus-event_source-devices-* of Linux.
// Thread safety: for one thread. Errors: a sentence in the report.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mapcore/report/report.h"
#include "mapcore/step/perf_event.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

// The event of the processor that the kernel calls cache misses: of the last level, on most.
PerfKind cache_miss_event();

class RankMisses {
 public:
  // `kind`: in a test another event, which every machine has.
  explicit RankMisses(PerfKind kind = cache_miss_event()) : kind_(kind) {}
  // Begins to count ranks that have attached since.
  void look(const Ranks& ranks);
  void fill(ReportCounters& counters) const;

 private:
  void count(pid_t process);
  void give_up(std::string why);  // closes the counters: a sum without all threads is not told

  PerfKind kind_;
  std::set<pid_t> seen_;
  std::vector<PerfEvent> events_;
  std::string why_ = "no rank was counted";
  bool gave_up_ = false;
};

class ControllerBytes {
 public:
  // Begins to count. `root`: of a made tree of /sys in a test; empty: the machine's.
  explicit ControllerBytes(const std::string& root);
  void fill(ReportCounters& counters) const;

 private:
  struct Counter {
    PerfEvent event;
    double bytes = 0;  // of one count
    bool writes = false;
  };
  std::vector<Counter> counters_;
  std::string why_;  // empty: all controllers are counted
};

// Both, if the user has asked for them.
class PerfCounters {
 public:
  PerfCounters(bool wanted, const std::string& root);
  void look(const Ranks& ranks);
  ReportCounters since_start() const;

 private:
  bool wanted_;
  RankMisses misses_;
  std::optional<ControllerBytes> controllers_;
};

}  // namespace ondeloc
