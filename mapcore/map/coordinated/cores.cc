// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/cores.h"

#include <algorithm>
#include <map>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

class CoreSearch {
 public:
  CoreSearch(const MapRequest& request, Mapping& mapping) : request_(request), mapping_(mapping) {
    rank_at_.assign(request.slots.size(), -1);
    for (std::size_t i = 0; i < mapping.size(); ++i)
      rank_at_[mapping[i].value] = static_cast<int>(i);
    slots_of_llc_.resize(request.machine.llcs.size());
    for (std::size_t s = 0; s < request.slots.size(); ++s)
      slots_of_llc_[request.slots[s].seat.llc.value].push_back(static_cast<int>(s));
  }

  void run() {
    for (int turn = 0; turn < tuning::kSettleRounds; ++turn) {
      bool changed = false;
      for (std::size_t i = 0; i < mapping_.size(); ++i)
        changed = improve(static_cast<int>(i)) || changed;
      if (!changed) return;
    }
  }

  void use_idle_cores() {
    for (const std::vector<int>& slots : slots_of_llc_) {
      std::map<int, int> ranks;  // of each core
      for (const int slot : slots)
        if (seat(slot).core >= 0) ranks[seat(slot).core] += rank_at_[slot] >= 0 ? 1 : 0;
      const auto idle = [&](int slot) {
        return seat(slot).core >= 0 && ranks[seat(slot).core] == 0;
      };
      for (const int slot : slots) {
        if (rank_at_[slot] < 0 || seat(slot).core < 0 || ranks[seat(slot).core] < 2) continue;
        const auto free = std::find_if(slots.begin(), slots.end(), idle);
        if (free == slots.end()) break;
        --ranks[seat(slot).core];
        ++ranks[seat(*free).core];
        mapping_[rank_at_[slot]] = SlotIndex(*free);
        std::swap(rank_at_[slot], rank_at_[*free]);
      }
    }
  }

 private:
  const Seat& seat(int slot) const { return request_.slots[slot].seat; }
  // Time of the messages and bytes between the rank and the other ranks of its cache if the rank is
  // in this slot. The rank `without` does not count.
  double price(int rank, int slot, int without) const {
    const CostModel& model = request_.model;
    const auto edges = request_.raw->edges(rank);
    const auto messages = request_.raw->messages(rank);
    const double byte_factor = model.byte_factor(request_.raw->ranks());
    const double message_factor = model.message_factor(request_.raw->ranks());
    double sum = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Seat& there = seat(mapping_[edges[e].peer].value);
      if (edges[e].peer == without || !(there.llc == seat(slot).llc)) continue;
      sum += byte_factor * edges[e].bytes * model.byte_cost_between(seat(slot), there) +
             message_factor * messages[e] * model.message_cost_between(seat(slot), there);
    }
    return sum;
  }
  static bool is_one_place(const Seat& a, const Seat& b) {
    return a.core == b.core && a.l2 == b.l2;
  }

  bool improve(int rank) {
    const int own = mapping_[rank].value;
    const double here = price(rank, own, -1);
    double best_gain = tuning::kWorthMoving * here;
    int best = -1;
    for (const int slot : slots_of_llc_[seat(own).llc.value]) {
      if (slot == own || is_one_place(seat(slot), seat(own))) continue;
      const int other = rank_at_[slot];
      double gain = here - price(rank, slot, other);
      if (other >= 0) {
        gain = price(rank, own, other) - price(rank, slot, other) + price(other, slot, rank) -
               price(other, own, rank);
      }
      if (gain > best_gain) best_gain = gain, best = slot;
    }
    if (best < 0) return false;
    const int other = rank_at_[best];
    mapping_[rank] = SlotIndex(best);
    rank_at_[best] = rank;
    rank_at_[own] = other;
    if (other >= 0) mapping_[other] = SlotIndex(own);
    return true;
  }

  const MapRequest& request_;
  Mapping& mapping_;
  std::vector<int> rank_at_;  // rank in each slot, -1: free
  std::vector<std::vector<int>> slots_of_llc_;
};

// True if two slots of one cache share a core, and if ranks on one core communicate at another cost
// than ranks that share only the cache.
bool has_choice(const MapRequest& request) {
  const CostModel& model = request.model;
  const bool differs = model.message_cost_inside[0] != model.message_cost_inside[2] ||
                       model.byte_cost_inside[0] != model.byte_cost_inside[2];
  if (!differs) return false;
  std::vector<std::pair<int, int>> cores;
  for (const Slot& slot : request.slots)
    if (slot.seat.core >= 0) cores.emplace_back(slot.seat.llc.value, slot.seat.core);
  std::sort(cores.begin(), cores.end());
  return std::adjacent_find(cores.begin(), cores.end()) != cores.end();
}

}  // namespace

void share_cores(const MapRequest& request, Mapping& mapping) {
  if (has_choice(request)) CoreSearch(request, mapping).run();
}

void use_idle_cores(const MapRequest& request, Mapping& mapping) {
  CoreSearch(request, mapping).use_idle_cores();
}

}  // namespace ondeloc::coordinated
