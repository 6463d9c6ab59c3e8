// SPDX-License-Identifier: Apache-2.0
// threads=sample: samples the page faults of the ranks' bound threads, and says which seats threads
// that share pages should exchange (page_sharing.h, sharing_seats.h).
//
// The price is bounded: the mapper reads the samples once a second. If more than 16384 came from
// the threads of the node, or more than 512 from each thread of a rank, the kernel samples a share
// of the faults from then on. It drops samples for which a ring of 16 KiB has no room. Thread
// safety: for one thread. Nothing here is fatal: if nothing can be sampled, notes() says why.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "mapcore/map/page_sharing.h"
#include "mapcore/map/sharing_seats.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/report/report.h"
#include "mapcore/step/page_faults.h"

namespace ondeloc {

class ThreadSampler {
 public:
  using Clock = std::chrono::steady_clock;
  // `nodes`: NUMA nodes of the machine.
  ThreadSampler(int ranks, std::size_t nodes);

  // From now on these threads of the rank are sampled, in this order, if the order of their seats
  // matters. A rank with other threads than before begins anew; for the same ones nothing is done.
  void follow(LocalRank rank, std::span<const pid_t> threads, bool matters);
  // Reads the samples if next_reading() has come.
  void read(Clock::time_point now);
  Clock::time_point next_reading() const;

  // Better CPUs for the followed threads, which have the CPUs `seats` now; empty if none are
  // clearly better.
  std::vector<CpuSet> better_seats(LocalRank rank, const CostModel& model, const Machine& machine,
                                   std::span<const CpuSet> seats);
  // To be called when the threads got better_seats().
  void note_exchange(LocalRank rank) { ranks_[rank].exchanged = true; }

  void fill(LocalRank rank, ReportRank& line) const;
  // One sentence for all ranks with the same outcome.
  std::vector<std::string> notes(const Ranks& ranks) const;

 private:
  struct OfRank {
    std::vector<pid_t> threads;
    std::vector<PageFaults> faults;  // of each thread; empty: they are not sampled
    PageSharing sharing;
    std::uint64_t period = 1;
    Exchange found = Exchange::kTooFew;
    bool exchanged = false;
  };
  void open(OfRank& rank);
  void read(OfRank& rank);
  std::size_t sampled_threads() const;

  IndexedVector<LocalRank, OfRank> ranks_;
  std::string why_;          // no thread is sampled; empty: nothing is against it so far
  std::size_t threads_ = 0;  // sampled on this node
  Clock::time_point next_, age_at_;
};

}  // namespace ondeloc
