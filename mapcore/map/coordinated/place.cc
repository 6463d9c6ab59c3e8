// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/place.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace ondeloc::coordinated {
namespace {

constexpr std::array kShared = {Level::kL3, Level::kL2, Level::kCore};

// Returns the first PU of every slot, by slot; nullptr if the machine does not know the PU.
std::vector<const Pu*> pus_of_slots(const MapRequest& request) {
  std::vector<const Pu*> by_os;
  for (const Pu& pu : request.machine.pus) {
    const auto os = static_cast<std::size_t>(pu.os.value);
    if (by_os.size() <= os) by_os.resize(os + 1);
    by_os[os] = &pu;
  }
  std::vector<const Pu*> pus;
  pus.reserve(request.slots.size());
  for (const Slot& slot : request.slots) {
    const int first = slot.pus.first();
    const bool known = first >= 0 && static_cast<std::size_t>(first) < by_os.size();
    pus.push_back(known ? by_os[first] : nullptr);
  }
  return pus;
}

// True if some of the PUs share a cache or a core, and others do not share one of the same level.
bool has_structure(const std::vector<const Pu*>& pus) {
  for (const Level level : kShared) {
    bool same = false, differs = false;
    for (std::size_t s = 1; s < pus.size(); ++s) {
      const bool equal = pus[s]->at(level) >= 0 && pus[s]->at(level) == pus[s - 1]->at(level);
      same = same || equal;
      differs = differs || !equal;
    }
    if (same && differs) return true;
  }
  return false;
}

class NodePlacer {
 public:
  NodePlacer(const MapRequest& request, const std::vector<const Pu*>& slot_pus, Mapping& mapping)
      : request_(request), slot_pus_(slot_pus), mapping_(mapping) {}

  // `slots`: free slots, in the order of their PUs. `ranks`: ranks to place, ascending.
  void place(const std::vector<SlotIndex>& slots, std::vector<int>& ranks) {
    std::vector<const Pu*> pus;
    pus.reserve(slots.size());
    for (const SlotIndex slot : slots) pus.push_back(slot_pus_[slot.value]);
    const bool structured = request_.traffic.total() > 0 &&
                            std::none_of(pus.begin(), pus.end(), [](auto* pu) { return !pu; }) &&
                            has_structure(pus);
    placed_.clear();
    for (Nearness& near : near_) near.bytes.assign(structured ? mapping_.size() : 0, 0);
    for (std::size_t s = 0; s < slots.size() && !ranks.empty(); ++s) {
      if (structured) look_from(*pus[s]);
      const auto next = structured && s > 0 ? closest(ranks) : ranks.begin();
      mapping_[*next] = slots[s];
      if (structured) add(*next, *pus[s]);
      ranks.erase(next);
    }
  }

 private:
  // The bytes of each rank with the placed ranks of one cache or core.
  struct Nearness {
    int domain = -1;
    std::vector<double> bytes;
  };

  // Makes `near_` count the ranks that share caches with this PU.
  void look_from(const Pu& pu) {
    for (std::size_t at = 0; at < kShared.size(); ++at) {
      Nearness& near = near_[at];
      if (near.domain == pu.at(kShared[at])) continue;
      near.domain = pu.at(kShared[at]);
      std::fill(near.bytes.begin(), near.bytes.end(), 0);
      for (const auto& [rank, where] : placed_)
        if (near.domain >= 0 && where->at(kShared[at]) == near.domain) add_edges(rank, near);
    }
  }
  void add(int rank, const Pu& pu) {
    placed_.emplace_back(rank, &pu);
    for (Nearness& near : near_)
      if (near.domain >= 0) add_edges(rank, near);
  }
  void add_edges(int rank, Nearness& near) const {
    for (const Traffic::Edge& edge : request_.traffic.edges(rank))
      near.bytes[edge.peer] += edge.bytes;
  }

  // Returns the rank that exchanges most with the placed ranks that share caches with the slot.
  std::vector<int>::iterator closest(std::vector<int>& ranks) const {
    auto best = ranks.begin();
    double most = -1;
    for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
      double bytes = 0;
      for (const Nearness& near : near_) bytes += near.bytes[*rank];
      if (bytes > most) most = bytes, best = rank;
    }
    return best;
  }

  const MapRequest& request_;
  const std::vector<const Pu*>& slot_pus_;
  Mapping& mapping_;
  std::array<Nearness, kShared.size()> near_;
  std::vector<std::pair<int, const Pu*>> placed_;  // the ranks of the node in hand
};

// Counts the taken slots of each core, by the core's number.
std::map<int, int> used_cores(const std::vector<const Pu*>& pus, const std::vector<char>& taken) {
  std::map<int, int> used;
  for (std::size_t s = 0; s < pus.size(); ++s)
    if (taken[s] != 0 && pus[s] != nullptr) ++used[pus[s]->at(Level::kCore)];
  return used;
}

// Sorts the slots so that the first thread of every core comes before the second thread of any
// core.
void put_idle_cores_first(std::vector<SlotIndex>& slots, const std::vector<const Pu*>& pus,
                          std::map<int, int> used) {
  std::vector<std::pair<int, SlotIndex>> turns;
  for (const SlotIndex slot : slots) {
    const Pu* pu = pus[slot.value];
    const int core = pu != nullptr ? pu->at(Level::kCore) : -1;
    turns.emplace_back(core < 0 ? 0 : used[core]++, slot);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = turns[i].second;
}

}  // namespace

Mapping place_on_slots(const MapRequest& request, std::span<const int> part, PlaceBy by) {
  const std::size_t nodes =
      by == PlaceBy::kLlc ? request.machine.llcs.size() : request.machine.nodes.size();
  const auto part_of = [&](std::size_t slot) {
    const Slot& each = request.slots[slot];
    return by == PlaceBy::kLlc ? each.seat.llc.value : each.node.value;
  };
  Mapping mapping(part.size(), SlotIndex(-1));
  std::vector<char> taken(request.slots.size());
  std::vector<std::vector<int>> ranks(nodes);
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!request.previous.empty()) {
      const auto slot = static_cast<std::size_t>(request.previous[i].value);
      if (part_of(slot) == part[i] && taken[slot] == 0) {
        mapping[i] = request.previous[i];
        taken[slot] = 1;
        continue;
      }
    }
    ranks[part[i]].push_back(static_cast<int>(i));
  }
  if (std::all_of(ranks.begin(), ranks.end(), [](const auto& list) { return list.empty(); }))
    return mapping;
  std::vector<std::vector<SlotIndex>> free(nodes);
  for (const SlotIndex slot : slots_by_node(request)) {
    const auto s = static_cast<std::size_t>(slot.value);
    if (taken[s] == 0) free[part_of(s)].push_back(slot);
  }
  const std::vector<const Pu*> slot_pus = pus_of_slots(request);
  for (std::size_t k = 0; k < nodes; ++k) {
    if (free[k].size() > ranks[k].size())
      put_idle_cores_first(free[k], slot_pus, used_cores(slot_pus, taken));
    NodePlacer placer(request, slot_pus, mapping);
    placer.place(free[k], ranks[k]);
  }
  return mapping;
}

}  // namespace ondeloc::coordinated
