// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/allowed.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ondeloc {
namespace {

constexpr std::size_t kMostRanks = 1024;
// Any number of ranks that do not get the slot meant for them is better than one that stays outside
// of its allowed CPUs, and that is better than one that is placed outside.
constexpr std::int64_t kSameNode = 1, kOtherNode = 2, kStaysOutside = 1 << 20,
                       kNever = std::int64_t{1} << 40;

class Assignment {
 public:
  Assignment(const Mapping& wanted, const Mapping& current, const SlotSet& slots,
             const AllowedCpus& allowed)
      : wanted_(wanted), current_(current), slots_(slots) {
    for (const LocalRank rank : wanted.ids()) {
      std::vector<bool>& row = may_take_.emplace_back();
      for (const Slot& slot : slots) row.push_back(is_allowed(allowed, rank, slot));
    }
  }

  // The Hungarian method with potentials: ranks are added one by one, each along the cheapest path
  // of ranks that give way.
  Mapping solve() {
    const std::size_t n = wanted_.size(), m = slots_.size();
    rank_potential_.assign(n + 1, 0);
    slot_potential_.assign(m + 1, 0);
    owner_.assign(m + 1, 0);
    before_.assign(m + 1, 0);
    for (std::size_t rank = 1; rank <= n; ++rank) add(rank);
    Mapping mapping = wanted_;
    for (std::size_t slot = 1; slot <= m; ++slot) {
      if (owner_[slot] == 0) continue;
      mapping[LocalRank(static_cast<int>(owner_[slot]) - 1)] =
          SlotIndex(static_cast<int>(slot) - 1);
    }
    return mapping;
  }

 private:
  // Numbers from 1; slot 0 stands for the rank that is being added.
  std::int64_t price(std::size_t rank_number, std::size_t slot_number) const {
    const LocalRank rank(static_cast<int>(rank_number) - 1);
    const SlotIndex slot(static_cast<int>(slot_number) - 1);
    if (!may_take_[rank_number - 1][slot_number - 1])
      return slot == current_[rank] ? kStaysOutside : kNever;
    if (slot == wanted_[rank]) return 0;
    return slots_[slot].node == slots_[wanted_[rank]].node ? kSameNode : kOtherNode;
  }

  void add(std::size_t rank) {
    const std::size_t slots = slots_.size();
    std::vector<std::int64_t> least(slots + 1, std::numeric_limits<std::int64_t>::max());
    std::vector<bool> seen(slots + 1, false);
    owner_[0] = rank;
    std::size_t at = 0;
    do {
      seen[at] = true;
      at = step(at, least, seen);
    } while (owner_[at] != 0);
    for (; at != 0; at = before_[at]) owner_[at] = owner_[before_[at]];
  }

  // Lowers the prices of the slots next to those seen, and returns the cheapest.
  std::size_t step(std::size_t at, std::vector<std::int64_t>& least, std::vector<bool>& seen) {
    const std::size_t rank = owner_[at];
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    std::size_t next = 0;
    for (std::size_t slot = 1; slot < least.size(); ++slot) {
      if (seen[slot]) continue;
      const std::int64_t now = price(rank, slot) - rank_potential_[rank] - slot_potential_[slot];
      if (now < least[slot]) {
        least[slot] = now;
        before_[slot] = at;
      }
      if (least[slot] < smallest) {
        smallest = least[slot];
        next = slot;
      }
    }
    for (std::size_t slot = 0; slot < least.size(); ++slot) {
      if (seen[slot]) {
        rank_potential_[owner_[slot]] += smallest;
        slot_potential_[slot] -= smallest;
      } else if (slot > 0) {
        least[slot] -= smallest;
      }
    }
    return next;
  }

  const Mapping& wanted_;
  const Mapping& current_;
  const SlotSet& slots_;
  std::vector<std::vector<bool>> may_take_;  // by rank and slot; each pair is asked for often
  std::vector<std::int64_t> rank_potential_, slot_potential_;
  std::vector<std::size_t> owner_, before_;  // of a slot: the rank that has it, the slot before it
};

}  // namespace

bool is_allowed(const AllowedCpus& allowed, LocalRank rank, const Slot& slot) {
  if (static_cast<std::size_t>(rank.value) >= allowed.size()) return true;
  return allowed[rank].empty() || slot.pus.is_subset_of(allowed[rank]);
}

Mapping improve_allowed(Mapping mapping, const SlotSet& slots, const AllowedCpus& allowed,
                        const std::function<double(const Mapping&)>& cost, int most) {
  double best = cost(mapping);
  const auto can_take = [&](LocalRank rank, SlotIndex slot) {
    return is_allowed(allowed, rank, slots[slot]);
  };
  for (bool better = true; better && most > 0;) {
    better = false;
    for (const LocalRank a : mapping.ids()) {
      for (LocalRank b(a.value + 1); mapping.has(b) && most > 0; ++b.value) {
        const Seat &one = slots[mapping[a]].seat, &other = slots[mapping[b]].seat;
        if (one.node == other.node && one.llc == other.llc) continue;
        if (!can_take(a, mapping[b]) || !can_take(b, mapping[a])) continue;
        std::swap(mapping[a], mapping[b]);
        const double now = cost(mapping);
        --most;
        if (now < best * (1 - 1e-9)) {
          best = now;
          better = true;
        } else {
          std::swap(mapping[a], mapping[b]);
        }
      }
    }
  }
  return mapping;
}

int count_outside(const Mapping& mapping, const SlotSet& slots, const AllowedCpus& allowed) {
  int count = 0;
  for (const LocalRank rank : mapping.ids())
    if (!is_allowed(allowed, rank, slots[mapping[rank]])) ++count;
  return count;
}

Mapping keep_allowed(const Mapping& wanted, const Mapping& current, const SlotSet& slots,
                     const AllowedCpus& allowed) {
  if (count_outside(wanted, slots, allowed) == 0) return wanted;
  if (wanted.size() > kMostRanks) return current;
  return Assignment(wanted, current, slots, allowed).solve();
}

}  // namespace ondeloc
