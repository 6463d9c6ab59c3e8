// SPDX-License-Identifier: Apache-2.0
// Counts memory accesses of each rank, for CommR and DramR (DeLoc thesis, equations 2.3 and 2.5),
// from the kernel's perf_event counters, if a user may have them.
//
// Counters see accesses, not bytes: an access counts as kBytesPerAccess, one word, in MemV and in
// DramV alike, so that DramR is what section 2.3.4 defines, "the ratio of the number of DRAM
// accesses to the total number of memory accesses". Accesses: loads and stores of the first-level
// data cache; DRAM: misses of the last-level cache. The processor may have only some of them;
// notes() says which were counted. User space only, every thread of the process and those it starts
// later, from start() on. Counters that shared the hardware with others are scaled by their running
// time.
//
// Ownership: owns the counters' descriptors. Thread safety: one thread. Errors: none; a rank that
// cannot be counted has no volumes and the notes say why.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/profile/writer.h"
#include "mapcore/step/perf_event.h"

namespace ondeloc {

struct CounterKind {
  std::string_view name;  // as perf(1) calls it
  PerfKind event;
};

// The recorder uses the first kind of each list that the kernel accepts. The first accepted kind of
// `more_accesses`, if there is one, is added to the accesses.
struct CounterSet {
  std::vector<CounterKind> accesses;
  std::vector<CounterKind> more_accesses;
  std::vector<CounterKind> dram;
};
CounterSet hardware_counters();

class MemoryCounters {
 public:
  static constexpr std::uint64_t kBytesPerAccess = 8;

  explicit MemoryCounters(CounterSet set = hardware_counters());
  // Begins to count `process`, which is `rank` of the step; once per rank.
  void start(std::uint32_t rank, pid_t process);
  // Returns the volumes so far of the ranks that are counted, also after they have ended.
  std::vector<RankMemory> read() const;
  // Says which counters the volumes come from, or why there are no volumes.
  std::vector<std::string> notes() const;

 private:
  struct Counted {
    std::uint32_t rank;
    std::vector<PerfEvent> accesses, dram;  // one per thread and kind
  };
  bool choose(pid_t process);
  Status open_all(Counted& counted, pid_t thread);

  CounterSet set_;
  std::optional<std::vector<CounterKind>> access_kinds_;  // chosen at the first start()
  std::optional<CounterKind> dram_kind_;
  std::string why_not_;
  std::vector<Counted> counted_;
};

}  // namespace ondeloc
