// SPDX-License-Identifier: Apache-2.0
// threads=cores: gives each busy thread of each rank CPUs of its own inside the rank's slot, the
// first one nearest to the ranks that its rank talks to most, and follows ranks that move. Looks
// become rarer while nothing changes. Thread safety: for one thread. Nothing here is fatal; what a
// user should know is in notes().
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "mapcore/binding/thread_team.h"
#include "mapcore/decide/interval.h"
#include "mapcore/map/thread_seats.h"
#include "mapcore/mapper/counters.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/report/report.h"

namespace ondeloc {

class ThreadArranger {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ThreadArranger(int ranks) : teams_(static_cast<std::size_t>(ranks)) {}

  Clock::time_point next_look() const { return next_; }
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
  std::vector<Peer> peers_of(LocalRank rank, const Placement& placement,
                             const Counters& counters) const;
  bool look_at(LocalRank rank, const Placement& placement, const RankState& state,
               const Counters& counters, const CostModel& model);

  struct Team {
    ThreadTeam team;
    CpuSet slot;          // at the last look
    bool shared = false;  // other ranks run on CPUs of its slot
    Seat main;            // of the first thread; valid if the team is bound
  };
  IndexedVector<LocalRank, Team> teams_;
  bool moved_ = false;  // some rank has another slot than at the last look
  IntervalController pause_{500, 8000, 2};
  Clock::time_point next_;
};

}  // namespace ondeloc
