// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mapcore/map/coordinated/random.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

constexpr int kAllCandidates = std::numeric_limits<int>::max();
constexpr double kUnknownBack = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TreeSearch::TreeSearch(const TreeTarget& target, DescentLimit limit)
    : target_(target), limit_(limit), state_(target) {
  const auto n = static_cast<std::size_t>(target.ranks), c = target.capacity.size();
  waiting_.assign(n, 0);
  edge_to_.assign(n, nullptr);
  least_back_.assign(c * c, kUnknownBack);
}

void TreeSearch::keep_better() {
  if (!best_.empty() && !is_better(state_.value(), value_)) return;
  value_ = state_.value();
  best_ = state_.part();
  is_best_optimal_ = false;
}

void TreeSearch::adopt(const Part& part) {
  if (part.empty()) return;
  state_.reset(part);
  keep_better();
}

void TreeSearch::offer(const Part& part) {
  if (part.empty()) return;
  state_.reset(part);
  keep_better();
  descend_from_all();
}

void TreeSearch::descend_from_all() {
  std::fill(least_back_.begin(), least_back_.end(), kUnknownBack);
  clear_queue();
  for (int i = target_.ranks - 1; i >= 0; --i) mark(i);
  work_ = limit_.work;
  const bool changed = descend();
  keep_better();
  if (work_ > 0 && !changed && state_.part() == best_) is_best_optimal_ = true;
}

bool TreeSearch::is_local_optimum(const Part& part) {
  state_.reset(part);
  std::fill(least_back_.begin(), least_back_.end(), kUnknownBack);
  work_ = tuning::kUnlimitedWork;
  acceptance_.start(state_.value());
  for (int rank = 0; rank < target_.ranks; ++rank)
    if (improve(rank)) return false;
  return true;
}

void TreeSearch::mark(int rank) {
  if (waiting_[rank] != 0) return;
  waiting_[rank] = 1;
  queue_.push_back(rank);
}

// A descent that ends with its work leaves ranks that wait.
void TreeSearch::clear_queue() {
  for (const int rank : queue_) waiting_[rank] = 0;
  queue_.clear();
}

bool TreeSearch::descend() {
  acceptance_.start(state_.value());
  bool changed = false;
  while (!queue_.empty() && work_ > 0) {
    const int rank = queue_.back();
    queue_.pop_back();
    waiting_[rank] = 0;
    changed = improve(rank) || changed;
  }
  return changed;
}

// Returns the least change of the locality when a member of `from` leaves for `to`.
double TreeSearch::least_back(int from, int to) {
  double& least = least_back_[target_.at(from, to)];
  if (!std::isnan(least)) return least;
  least = std::numeric_limits<double>::infinity();
  for (const int other : state_.members(from))
    least = std::min(least, state_.price(other, to) - state_.price(other, from));
  work_ -= static_cast<std::int64_t>(state_.members(from).size());
  return least;
}

void TreeSearch::consider(int rank, int partner, int to, const TreeEdge* edge, Choice& best) {
  --candidates_;
  work_ -= 1 + (target_.llcs + target_.links) / 8;
  Value value = state_.least_after(rank, partner, to, edge, best.value.cost);
  if (!is_better(value, best.value)) return;
  if (state_.busy().counts() || !target_.is_one_node(state_.part()[rank], to)) {
    work_ -= edge_work(rank, partner);
    value = state_.value_after(rank, partner, to, edge, best.value.cost);
  }
  if (is_better(value, best.value)) best = {value, partner, to};
}

// The time of an exact value grows with the edges of the ranks that move.
std::int64_t TreeSearch::edge_work(int rank, int partner) const {
  if (!limit_.counts_edges || recording_) return 0;
  const std::size_t back = partner >= 0 ? target_.row(partner).size() : 0;
  return static_cast<std::int64_t>(target_.row(rank).size() + back) / tuning::kEdgesOfWork;
}

double TreeSearch::slack(double congestion, double busiest) const {
  return state_.relief(congestion, busiest) + kTieTolerance * state_.value().cost;
}

void TreeSearch::consider_swaps(int rank, int to, double kept, const BusyRanks::Beside& beside,
                                Choice& best) {
  const int from = state_.part()[rank];
  const double alone = state_.price(rank, to) - state_.price(rank, from);
  const BusyRanks& busy = state_.busy();
  const double most = slack(kept, beside.without(busy.near_cache(to)));
  if (alone + least_back(to, from) >= most) return;
  work_ -= static_cast<std::int64_t>(state_.members(to).size()) / 4;
  const double far = slack(kept, beside.most);
  for (const int other : state_.members(to)) {
    double more = alone + state_.price(other, from) - state_.price(other, to);
    if (more >= most) continue;
    if (const unsigned near = busy.near(other);
        more >= (near == 0 ? far : slack(kept, beside.without(near))))
      continue;
    const TreeEdge* edge = edge_to_[other];
    if (edge != nullptr)
      more += 2 * target_.cost(*edge, from, to) - target_.cost(*edge, to, to) -
              target_.cost(*edge, from, from);
    if (more < most) consider(rank, other, to, edge, best);
    if (candidates_ <= 0) return;
  }
}

// Applies the best move or swap of the rank, if one improves the value.
bool TreeSearch::improve(int rank) {
  const int from = state_.part()[rank];
  Choice best{state_.value()};
  candidates_ = target_.ranks > tuning::kManyOnTree ? tuning::kCandidatesOfMany : kAllCandidates;
  for (const TreeEdge& edge : target_.row(rank)) edge_to_[edge.peer] = &edge;
  for (int to = 0; to < target_.llcs; ++to) {
    if (to == from || target_.capacity[to] == 0) continue;
    const double kept = state_.kept_congestion(from, to);
    const BusyRanks::Beside beside = state_.busy().beside(rank, from, to);
    const double alone = state_.price(rank, to) - state_.price(rank, from);
    if (state_.free_slots(to) > 0 && alone < slack(kept, beside.most))
      consider(rank, -1, to, nullptr, best);
    consider_swaps(rank, to, kept, beside, best);
  }
  for (const TreeEdge& edge : target_.row(rank)) edge_to_[edge.peer] = nullptr;
  work_ -= target_.llcs;
  if (best.to < 0 || !acceptance_.allows(best.value)) return false;
  acceptance_.lower(best.value);
  apply(rank, best.partner, best.to);
  return true;
}

// Forgets the least changes of the caches of the rank and of its peers: prices of ranks there
// change.
void TreeSearch::forget_around(int rank) {
  const auto forget = [this](int llc) {
    std::fill_n(least_back_.begin() + static_cast<std::ptrdiff_t>(target_.at(llc, 0)), target_.llcs,
                kUnknownBack);
  };
  forget(state_.part()[rank]);
  for (const TreeEdge& edge : target_.row(rank)) forget(state_.part()[edge.peer]);
}

void TreeSearch::apply(int rank, int partner, int to) {
  if (recording_) steps_.push_back({rank, partner, state_.part()[rank]});
  forget_around(rank);
  if (partner >= 0) {
    forget_around(partner);
    state_.swap(rank, partner);
    mark(partner);
    for (const TreeEdge& edge : target_.row(partner)) mark(edge.peer);
  } else {
    state_.move(rank, to);
    forget_around(rank);
  }
  for (const TreeEdge& edge : target_.row(rank)) mark(edge.peer);
  mark(rank);
  work_ -= static_cast<std::int64_t>(target_.row(rank).size()) + target_.llcs;
}

// Any rank or, as often, the busiest rank or a peer of it.
int TreeSearch::one_to_kick(std::uint64_t& random) const {
  const int busiest = state_.busy().busiest();
  if (busiest < 0 || below(random, 2) == 0) return below(random, target_.ranks);
  const auto row = target_.row(busiest);
  const int place = below(random, static_cast<int>(row.size()) + 1);
  return place < static_cast<int>(row.size()) ? row[place].peer : busiest;
}

// Moves two ranks, each to any cache or, as often, to the cache of a peer.
void TreeSearch::kick(std::uint64_t& random) {
  for (int turn = 0; turn < 2; ++turn) {
    const int rank = one_to_kick(random);
    const auto row = target_.row(rank);
    int to = below(random, target_.llcs);
    if (below(random, 2) == 0 && !row.empty())
      to = state_.part()[row[below(random, static_cast<int>(row.size()))].peer];
    const auto& members = state_.members(to);
    const int places = static_cast<int>(members.size()) + (state_.free_slots(to) > 0 ? 1 : 0);
    if (to == state_.part()[rank] || places == 0) continue;
    const int place = below(random, places);
    apply(rank, place < static_cast<int>(members.size()) ? members[place] : -1, to);
  }
}

void TreeSearch::go_back() {
  recording_ = false;
  for (; !steps_.empty(); steps_.pop_back()) {
    const Step step = steps_.back();
    apply(step.rank, step.partner, step.from);
  }
  clear_queue();
  recording_ = true;
}

void TreeSearch::iterate(std::uint64_t seed, std::int64_t work) {
  std::uint64_t random = random_from(seed);
  if (state_.part() != best_) state_.reset(best_);
  std::fill(least_back_.begin(), least_back_.end(), kUnknownBack);
  clear_queue();
  Value value = state_.value();
  work_ = work;
  const auto allowed_work = static_cast<double>(work);
  recording_ = true;
  while (work_ > 0) {
    --work_;
    kick(random);
    descend();
    const double left = static_cast<double>(std::max<std::int64_t>(0, work_)) / allowed_work;
    const double most = value.cost * (1 + tuning::kTreeThreshold * left);
    if (is_better(value, state_.value()) && !is_less(state_.value().cost, most)) {
      go_back();
      continue;
    }
    value = state_.value();
    steps_.clear();
    keep_better();
  }
  recording_ = false;
  steps_.clear();
  // Sums kept over thousands of steps have drifted in the last bits.
  state_.reset(best_);
  value_ = state_.value();
  if (!is_best_optimal_) descend_from_all();
}

// True if the value after the move is not worse than the present one.
bool TreeSearch::loses_nothing(int rank, int partner, int to, const TreeEdge* edge) const {
  const Value& now = state_.value();
  return !is_better(now, state_.least_after(rank, partner, to, edge, now.cost)) &&
         !is_better(now, state_.value_after(rank, partner, to, edge, now.cost));
}

bool TreeSearch::bring_home(int rank, const Part& previous) {
  const int from = state_.part()[rank], home = previous[rank];
  if (state_.free_slots(home) > 0 && loses_nothing(rank, -1, home, nullptr)) {
    state_.move(rank, home);
    return true;
  }
  const auto row = target_.row(rank);
  for (const int other : state_.members(home)) {
    if (previous[other] == home) continue;
    const auto edge = std::find_if(row.begin(), row.end(),
                                   [&](const TreeEdge& each) { return each.peer == other; });
    if (!loses_nothing(rank, other, home, edge == row.end() ? nullptr : &*edge)) continue;
    state_.swap(rank, other);
    return true;
  }
  return from == home;
}

Part TreeSearch::bring_back(const Part& part, const Part& previous) {
  state_.reset(part);
  bool moved = true;
  for (int turn = 0; moved && turn < tuning::kSettleRounds; ++turn) {
    moved = false;
    for (int i = 0; i < target_.ranks; ++i)
      if (state_.part()[i] != previous[i]) moved = bring_home(i, previous) || moved;
  }
  return state_.part();
}

}  // namespace ondeloc::coordinated
