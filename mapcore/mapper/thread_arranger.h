// SPDX-License-Identifier: Apache-2.0
// threads=cores and threads=sample: gives each busy thread of each rank CPUs of its own inside the
// rank's slot, the first one nearest to the ranks that its rank talks to most, and follows ranks
// that move. With `sample` the threads of a rank exchange their CPUs if that brings those that
// share pages clearly nearer to each other. Looks become rarer while nothing changes. Thread
// safety: for one thread. Nothing here is fatal; what a user should know is in notes().
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/binding/thread_team.h"
#include "mapcore/decide/interval.h"
#include "mapcore/map/thread_seats.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/mapper/thread_sampler.h"
#include "mapcore/options/option_enums.h"
#include "mapcore/report/report.h"

namespace ondeloc {

class ThreadArranger {
 public:
  using Clock = std::chrono::steady_clock;
  // `nodes`: NUMA nodes of the machine.
  ThreadArranger(ThreadBinding how, int ranks, std::size_t nodes);

  Clock::time_point next_look() const;
  // To be called when ranks were moved.
  void look_soon() { next_ = {}; }
  // Does nothing before next_look(), nor while the placement may not bind ranks.
  void look(Clock::time_point now, const Placement& placement, const Ranks& ranks,
            const Counters& counters, const CostModel& model);

  void fill(LocalRank rank, ReportRank& line) const;
  // One sentence for all ranks whose threads are in the same state.
  std::vector<std::string> notes(const Ranks& ranks) const;

 private:
  void note_slots(const Placement& placement);
  void note_main_seat(LocalRank rank, const Placement& placement);
  std::vector<Peer> peers_of(LocalRank rank, const Counters& counters) const;
  bool look_at(LocalRank rank, const Placement& placement, const RankState& state,
               const Counters& counters, const CostModel& model);
  std::vector<CpuSet> better_seats(LocalRank rank, const Machine& machine, const CostModel& model,
                                   std::span<const CpuSet> seats);

  struct Team {
    ThreadTeam team;
    CpuSet slot;          // at the last look
    bool shared = false;  // other ranks run on CPUs of its slot
    Seat main;            // of the first thread if it runs in the slot, else of the slot
  };
  ThreadBinding how_;
  IndexedVector<LocalRank, Team> teams_;
  std::optional<ThreadSampler> sampler_;  // with threads=sample
  bool moved_ = false;                    // some rank has another slot than at the last look
  IntervalController pause_{500, 8000, 2};
  Clock::time_point next_;
};

}  // namespace ondeloc
