// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/busy_ranks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ondeloc::coordinated {
namespace {

constexpr double kAnyTime = std::numeric_limits<double>::infinity();

}  // namespace

BusyRanks::BusyRanks(const TreeTarget& target)
    : target_(target),
      seconds_(static_cast<std::size_t>(target.ranks)),
      near_(seconds_.size()),
      near_cache_(target.capacity.size()) {
  if (!counts()) return;
  change_.assign(seconds_.size(), 0);
  for (Kept& kept : kept_) kept.edge_to.assign(seconds_.size(), nullptr);
}

void BusyRanks::find(const Part& part) {
  if (!counts()) return;
  part_ = &part;
  choose();
  mark_near(part);
}

// Sets the busiest ranks, the busiest first, and their number.
void BusyRanks::choose() {
  std::array<int, kKept> best{};
  count_ = 0;
  for (int i = 0; i < target_.ranks; ++i) {
    int place = count_;
    while (place > 0 && seconds_[best[place - 1]] < seconds_[i]) --place;
    if (place == kKept) continue;
    count_ = std::min(count_ + 1, kKept);
    for (int j = count_ - 1; j > place; --j) best[j] = best[j - 1];
    best[place] = i;
  }
  for (int j = 0; j < count_; ++j) keep(j, std::span(best).subspan(j, count_ - j));
}

// Puts the first of `ranks` at this place. If the rank is kept elsewhere, its edges come with it.
// Otherwise it takes over an entry of a rank that is not one of `ranks`.
void BusyRanks::keep(int place, std::span<const int> ranks) {
  const int rank = ranks[0];
  const auto begin = kept_.begin() + place;
  auto entry =
      std::find_if(begin, kept_.end(), [&](const Kept& kept) { return kept.rank == rank; });
  if (entry == kept_.end())
    entry = std::find_if(begin, kept_.end(), [&](const Kept& kept) {
      return std::find(ranks.begin(), ranks.end(), kept.rank) == ranks.end();
    });
  std::swap(*begin, *entry);
  begin->seconds = seconds_[rank];
  if (begin->rank == rank) return;
  if (begin->rank >= 0)
    for (const TreeEdge& edge : target_.row(begin->rank)) begin->edge_to[edge.peer] = nullptr;
  begin->rank = rank;
  for (const TreeEdge& edge : target_.row(rank)) begin->edge_to[edge.peer] = &edge;
}

void BusyRanks::mark_near(const Part& part) {
  std::fill(near_.begin(), near_.end(), 0);
  std::fill(near_cache_.begin(), near_cache_.end(), 0);
  for (int j = 0; j < count_; ++j) {
    const auto bit = static_cast<unsigned char>(1U << j);
    const auto mark = [&](int rank) {
      near_[rank] |= bit;
      near_cache_[part[rank]] |= bit;
    };
    mark(kept_[j].rank);
    for (const TreeEdge& edge : target_.row(kept_[j].rank)) mark(edge.peer);
  }
}

// The time of a kept rank that is neither of the two that move.
double BusyRanks::after_of(const Kept& kept, const TreeMove& move) const {
  const int own = (*part_)[kept.rank];
  double change = 0;
  if (const TreeEdge* edge = kept.edge_to[move.rank])
    change += target_.cost(*edge, own, move.to) - target_.cost(*edge, own, move.from);
  if (const TreeEdge* edge = move.partner >= 0 ? kept.edge_to[move.partner] : nullptr)
    change += target_.cost(*edge, own, move.from) - target_.cost(*edge, own, move.to);
  return kept.seconds + target_.per_rank * change;
}

BusyRanks::Beside BusyRanks::beside(int rank, int from, int to) const {
  Beside times;
  const unsigned near = near_[rank];
  for (int j = 0; j < count_; ++j) {
    const Kept& kept = kept_[j];
    if (kept.rank == rank) continue;
    times.seconds[j] = (near >> j & 1U) == 0 ? kept.seconds : after_of(kept, {rank, -1, from, to});
    times.most = std::max(times.most, times.seconds[j]);
  }
  return times;
}

double BusyRanks::least_after(const TreeMove& move, double mine, double theirs) const {
  double most = target_.per_rank * std::max(mine, theirs);
  const unsigned near = near_[move.rank] | (move.partner >= 0 ? near_[move.partner] : 0U);
  for (int j = 0; j < count_; ++j) {
    const Kept& kept = kept_[j];
    // The later ones are not busier.
    if (kept.seconds <= most) break;
    if ((near >> j & 1U) == 0) return kept.seconds;
    if (kept.rank != move.rank && kept.rank != move.partner)
      most = std::max(most, after_of(kept, move));
  }
  return most;
}

double BusyRanks::after(const TreeMove& move, double mine, double theirs, double limit) const {
  double most = target_.per_rank * std::max(mine, theirs);
  // Nearly always a peer of the rank with more edges is above the limit.
  Mover few{move.partner, move.to, move.from}, many{move.rank, move.from, move.to};
  if (few.rank >= 0 && target_.row(few.rank).size() > target_.row(many.rank).size())
    std::swap(few, many);
  if (few.rank >= 0) add_changes(few, many.rank, kAnyTime);
  most = std::max(most, add_changes(many, few.rank, limit));
  if (most <= limit) most = std::max(most, most_of_changed_and_kept(move));
  for (const int peer : changed_) change_[peer] = 0;
  changed_.clear();
  return most;
}

// Adds the changes of the prices of the mover's peers. Returns the longest time of these peers, or
// the first above the limit; then the other peers are left out.
double BusyRanks::add_changes(const Mover& mover, int other, double limit) const {
  double most = 0;
  for (const TreeEdge& edge : target_.row(mover.rank)) {
    if (edge.peer == other) continue;
    const int there = (*part_)[edge.peer];
    double& change = change_[edge.peer];
    change += target_.cost(edge, there, mover.to) - target_.cost(edge, there, mover.from);
    changed_.push_back(edge.peer);
    most = std::max(most, seconds_[edge.peer] + target_.per_rank * change);
    if (most > limit) break;
  }
  return most;
}

double BusyRanks::most_of_changed_and_kept(const TreeMove& move) const {
  double most = 0;
  for (const int peer : changed_)
    most = std::max(most, seconds_[peer] + target_.per_rank * change_[peer]);
  const unsigned near = near_[move.rank] | (move.partner >= 0 ? near_[move.partner] : 0U);
  if (const int first = std::countr_one(near); first < count_)
    return std::max(most, kept_[first].seconds);
  if (count_ < kKept || most >= kept_[kKept - 1].seconds) return most;
  // All of the kept ranks change: any other rank may be the busiest then.
  for (const int peer : changed_) change_[peer] = kAnyTime;
  for (int i = 0; i < target_.ranks; ++i)
    if (change_[i] != kAnyTime && i != move.rank && i != move.partner)
      most = std::max(most, seconds_[i]);
  return most;
}

}  // namespace ondeloc::coordinated
