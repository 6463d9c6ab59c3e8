// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_team.h"

#include <algorithm>
#include <utility>

#include "mapcore/binding/affinity.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t kLeastUse = 8;  // ticks of the busiest thread, or nothing can be said
constexpr std::uint64_t kShare = 8;     // a thread computes if it used so much of the busiest one
// Threads come and go if those that ended used a quarter of the time of the busiest thread, since
// that one had used so many ticks.
constexpr std::uint64_t kEndedShare = 4, kLongUse = 100;
constexpr int kMostChanges = 3;  // of a bound team, before it counts as unsteady

bool is_final(TeamState state) {
  return state == TeamState::kOwnBinding || state == TeamState::kUnsteady;
}

template <typename Threads>
std::uint64_t use_of_busiest(const Threads& threads) {
  std::uint64_t most = 0;
  for (const auto& thread : threads) most = std::max(most, thread.used);
  return most;
}

}  // namespace

std::uint64_t ThreadTeam::Uses::since(const Key& key, std::uint64_t used) const {
  const auto at = threads.find(key);
  return at == threads.end() ? used : used - std::min(used, at->second);
}

std::vector<ThreadTeam::Thread> ThreadTeam::read(pid_t pid) {
  const bool first = last_.threads.empty();
  std::vector<Thread> threads;
  now_ = {{}, read_process_stat(pid).value_or(ProcessStat{}).used};
  for (const ThreadStat& stat : in_order_of_creation(pid, read_threads(pid))) {
    const Key key{stat.start, stat.tid};
    auto mask = get_affinity(stat.tid);
    if (!mask) continue;  // it has ended
    now_.threads[key] = stat.used;
    threads.push_back({key, last_.since(key, stat.used), !last_.threads.contains(key), stat.cpu,
                       *std::move(mask)});
  }
  if (first) {
    last_ = check_ = now_;
    threads.clear();  // nothing to compare with
  }
  return threads;
}

// The CPU time of threads that ended is what the process used and no thread that lives has. The
// kernel rounds user and system time of each thread down to ticks.
bool ThreadTeam::comes_and_goes() {
  std::uint64_t alive = 2 * (now_.threads.size() + 1), most = 0;
  for (const auto& [key, used] : now_.threads) {
    alive += check_.since(key, used);
    most = std::max(most, check_.since(key, used));
  }
  const std::uint64_t all = now_.process - std::min(now_.process, check_.process);
  const std::uint64_t ended = all - std::min(all, alive);
  const bool comes = ended >= kLeastUse && ended * kEndedShare > most;
  if (comes || most >= kLongUse) check_ = now_;
  return comes;
}

const ThreadTeam::Seated* ThreadTeam::seat_of(const Key& key) const {
  const auto at = std::find_if(seats_.begin(), seats_.end(),
                               [&](const Seated& seated) { return seated.key == key; });
  return at == seats_.end() ? nullptr : &*at;
}

bool ThreadTeam::is_seat(const CpuSet& mask) const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [&](const Seated& seated) { return seated.cpus == mask; });
}

std::vector<CpuSet> ThreadTeam::seats() const {
  std::vector<CpuSet> seats;
  for (const Seated& seated : seats_) seats.push_back(seated.cpus);
  return seats;
}

std::vector<pid_t> ThreadTeam::members() const {
  std::vector<pid_t> members;
  for (const Seated& seated : seats_) members.push_back(seated.key.second);
  return members;
}

// A thread inherits the mask of the thread that creates it. If the process has been moved since,
// the seats have other CPUs than those in seats_.
void ThreadTeam::free_newcomers(std::vector<Thread>& threads, const CpuSet& slot) const {
  const bool moved = !(slot == slot_);
  for (Thread& thread : threads) {
    const bool inherited = moved ? thread.mask.is_subset_of(slot) : is_seat(thread.mask);
    if (!thread.fresh || seats_.empty() || !inherited || thread.mask == slot) continue;
    (void)set_affinity(thread.key.second, slot);
    thread.mask = slot;
  }
}

// The binder keeps a seated thread inside the slot when it moves the process.
bool ThreadTeam::has_own_binding(const std::vector<Thread>& busy, const CpuSet& slot) const {
  const bool moved = !(slot == slot_);
  return std::any_of(busy.begin(), busy.end(), [&](const Thread& thread) {
    if (thread.mask == slot) return false;
    const Seated* seated = seat_of(thread.key);
    if (seated == nullptr) return true;
    return moved ? !thread.mask.is_subset_of(slot) : !(thread.mask == seated->cpus);
  });
}

void ThreadTeam::bind(const std::vector<Thread>& team, std::vector<CpuSet> seats) {
  seats_.clear();
  for (std::size_t i = 0; i < team.size(); ++i) {
    if (!(team[i].mask == seats[i])) (void)set_affinity(team[i].key.second, seats[i]);
    seats_.push_back({team[i].key, std::move(seats[i])});
  }
}

// Threads that have a binding of the program keep it.
bool ThreadTeam::give_up(TeamState why, const std::vector<Thread>& threads, const CpuSet& slot) {
  for (const Thread& thread : threads) {
    const Seated* seated = seat_of(thread.key);
    const bool ours = seated != nullptr && thread.mask.is_subset_of(slot) &&
                      (!(slot == slot_) || thread.mask == seated->cpus);
    if (ours) (void)set_affinity(thread.key.second, slot);
  }
  const bool bound = !seats_.empty();
  seats_.clear();
  pending_.clear();
  state_ = why;
  return bound;
}

// Binds `busy` and the bound threads that live.
bool ThreadTeam::seat(const std::vector<Thread>& busy, const std::vector<Thread>& all,
                      const CpuSet& slot, const SeatsFor& seats_for, bool again) {
  const bool same = std::all_of(busy.begin(), busy.end(), [this](const Thread& thread) {
    return seat_of(thread.key) != nullptr;
  });
  if (same && slot == slot_ && !again) return false;
  std::vector<Thread> team;
  std::vector<Key> keys;
  std::vector<PuOs> cpus;
  for (const Thread& thread : all) {
    const bool computes = std::any_of(busy.begin(), busy.end(),
                                      [&](const Thread& each) { return each.key == thread.key; });
    if (!computes && seat_of(thread.key) == nullptr) continue;
    team.push_back(thread);
    keys.push_back(thread.key);
    cpus.push_back(thread.cpu);
  }
  if (!same && std::exchange(pending_, keys) != keys) return false;
  if (team.size() < 2) return false;
  std::vector<CpuSet> seats = seats_for(cpus);
  if (seats.empty()) return give_up(TeamState::kTooMany, all, slot);
  if (!same && !seats_.empty() && ++changes_ > kMostChanges)
    return give_up(TeamState::kUnsteady, all, slot);
  bind(team, std::move(seats));
  slot_ = slot;
  state_ = TeamState::kBound;
  return true;
}

bool ThreadTeam::look(pid_t pid, const CpuSet& slot, const SeatsFor& seats_for, bool again) {
  if (is_final(state_)) return false;
  std::vector<Thread> threads = read(pid);
  free_newcomers(threads, slot);
  if (comes_and_goes()) {
    pending_.clear();
    const bool enough = !seats_.empty() || ++changes_ > kMostChanges;
    return enough && give_up(TeamState::kUnsteady, threads, slot);
  }
  const std::uint64_t most = use_of_busiest(threads);
  if (most < kLeastUse) return false;
  last_ = now_;
  std::vector<Thread> busy;
  for (const Thread& thread : threads)
    if (thread.used * kShare >= most) busy.push_back(thread);
  if (has_own_binding(busy, slot)) {
    // A single thread that is bound says nothing about the others.
    return busy.size() > 1 || !seats_.empty() ? give_up(TeamState::kOwnBinding, threads, slot)
                                              : false;
  }
  return seat(busy, threads, slot, seats_for, again);
}

}  // namespace ondeloc
