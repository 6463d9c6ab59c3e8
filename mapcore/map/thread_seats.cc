// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/thread_seats.h"

#include <algorithm>

#include "mapcore/map/mapping.h"

namespace ondeloc {
namespace {

struct ThreadSeat {
  CpuSet cpus;
  Seat seat;
  bool taken = false;
};

std::vector<CpuSet> single_cpus(const std::vector<CpuSet>& cores) {
  std::vector<CpuSet> single;
  for (const CpuSet& core : cores) {
    for (const PuOs cpu : core.to_vector()) single.emplace_back().set(cpu);
  }
  return single;
}

// In the order of the machine's tree.
std::vector<ThreadSeat> seats_of(const Machine& machine, const CpuSet& slot, std::size_t threads) {
  std::vector<CpuSet> sets = core_sets(restrict_machine(machine, slot));
  if (sets.size() < threads) sets = single_cpus(sets);
  std::vector<ThreadSeat> seats;
  for (CpuSet& cpus : sets) {
    const Seat seat = make_slot(machine, cpus).seat;
    seats.push_back({std::move(cpus), seat});
  }
  return seats;
}

double cost_at(const Seat& seat, const CostModel& model, std::span<const Peer> peers, int ranks) {
  double cost = 0;
  for (const Peer& peer : peers)
    cost +=
        model.byte_factor(ranks) * peer.bytes * model.byte_cost_between(seat, peer.seat) +
        model.message_factor(ranks) * peer.messages * model.message_cost_between(seat, peer.seat);
  return cost;
}

// Puts the seats with the lowest cost first, among those of `node` if there are some.
void put_nearest_first(std::vector<ThreadSeat>& seats, NodeIndex node, const CostModel& model,
                       std::span<const Peer> peers, int ranks) {
  const auto rank_of = [&](const ThreadSeat& at) {
    return std::pair(!(at.seat.node == node), cost_at(at.seat, model, peers, ranks));
  };
  const auto best = std::min_element(
      seats.begin(), seats.end(),
      [&](const ThreadSeat& a, const ThreadSeat& b) { return rank_of(a) < rank_of(b); });
  std::rotate(seats.begin(), best, best + 1);
}

void sort_around_first(std::vector<ThreadSeat>& seats) {
  const Seat centre = seats.front().seat;
  std::stable_sort(seats.begin() + 1, seats.end(),
                   [&centre](const ThreadSeat& a, const ThreadSeat& b) {
                     return shared_domain(centre, a.seat) < shared_domain(centre, b.seat);
                   });
}

template <typename Condition>
bool take(std::vector<ThreadSeat>& seats, CpuSet& cpus, Condition condition) {
  const auto at = std::find_if(seats.begin(), seats.end(), [&](const ThreadSeat& seat) {
    return !seat.taken && condition(seat);
  });
  if (at == seats.end()) return false;
  at->taken = true;
  cpus = at->cpus;
  return true;
}

}  // namespace

std::optional<std::vector<CpuSet>> seat_threads(const CostModel& model, const Machine& machine,
                                                const CpuSet& slot, std::span<const PuOs> last,
                                                std::span<const Peer> peers, int ranks) {
  std::vector<ThreadSeat> seats = seats_of(machine, slot, last.size());
  if (seats.size() < last.size()) return std::nullopt;
  put_nearest_first(seats, machine.node_of(last.front()), model, peers, ranks);
  sort_around_first(seats);
  std::vector<CpuSet> found(last.size());
  for (std::size_t i = 0; i < last.size(); ++i) {
    const NodeIndex node = machine.node_of(last[i]);
    take(seats, found[i], [node](const ThreadSeat& seat) { return seat.seat.node == node; });
  }
  for (CpuSet& cpus : found)
    if (cpus.empty()) take(seats, cpus, [](const ThreadSeat&) { return true; });
  return found;
}

}  // namespace ondeloc
