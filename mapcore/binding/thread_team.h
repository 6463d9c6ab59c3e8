// SPDX-License-Identifier: Apache-2.0
// Binds the threads of one running process that compute, each to a seat of its own, in the order in
// which the process created them.
//
// A thread computes if it used an eighth of the CPU time that the busiest thread used. On a busy
// machine several looks may pass until the busiest thread has used enough to tell. Helper threads
// of MPI libraries sleep, and stay free on all CPUs of the process. The team is bound when two such
// looks in a row found the same threads. The binding is taken back for good if threads come and go,
// because a thread that a bound thread creates begins on the one seat of its creator, and if the
// program binds one of its threads. Times are clock ticks. Thread safety: one object per process,
// for one thread. Nothing here is fatal: a thread that has ended, or that the kernel refuses to
// bind, is passed over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {

// kAlone: no two threads computed. The last two are final: the team is not looked at again.
enum class TeamState { kAlone, kBound, kTooMany, kOwnBinding, kUnsteady };

class ThreadTeam {
 public:
  // Returns CPUs inside the slot for each of the threads, which ran last on the CPUs `last`; empty
  // if the slot has too few.
  using SeatsFor = std::function<std::vector<CpuSet>(std::span<const PuOs> last)>;

  // `slot`: the CPUs that the process is bound to now. `again`: bind a bound team anew, because
  // its best seats may have changed. Returns true if masks were set.
  bool look(pid_t pid, const CpuSet& slot, const SeatsFor& seats_for, bool again);

  TeamState state() const { return state_; }
  // The seats of the bound threads, in the order of their creation; empty if none is bound.
  std::vector<CpuSet> seats() const;
  // The bound threads, in the same order.
  std::vector<pid_t> members() const;

 private:
  using Key = std::pair<std::uint64_t, pid_t>;  // start and id: ids of ended threads come again
  struct Thread {
    Key key;
    std::uint64_t used = 0;  // since last_
    bool fresh = false;      // not seen before
    PuOs cpu;                // that it ran on last
    CpuSet mask;
  };
  // CPU time of the threads that live, and of the process.
  struct Uses {
    std::map<Key, std::uint64_t> threads;
    std::uint64_t process = 0;
    std::uint64_t since(const Key& key, std::uint64_t used) const;
  };
  struct Seated {
    Key key;
    CpuSet cpus;
  };

  std::vector<Thread> read(pid_t pid);
  bool comes_and_goes();
  const Seated* seat_of(const Key& key) const;
  bool is_seat(const CpuSet& mask) const;
  void free_newcomers(std::vector<Thread>& threads, const CpuSet& slot) const;
  bool has_own_binding(const std::vector<Thread>& busy, const CpuSet& slot) const;
  bool seat(const std::vector<Thread>& busy, const std::vector<Thread>& all, const CpuSet& slot,
            const SeatsFor& seats_for, bool again);
  void bind(const std::vector<Thread>& team, std::vector<CpuSet> seats);
  bool give_up(TeamState why, const std::vector<Thread>& threads, const CpuSet& slot);

  TeamState state_ = TeamState::kAlone;
  Uses now_;                   // at this look
  Uses last_;                  // at the last look that could tell who computes
  Uses check_;                 // since when ended threads are looked for
  std::vector<Key> pending_;   // those that computed before the last look, not bound yet
  std::vector<Seated> seats_;  // in the order of creation
  CpuSet slot_;                // that the seats are in
  int changes_ = 0;
};

}  // namespace ondeloc
