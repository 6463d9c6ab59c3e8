// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/starts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>

namespace ondeloc::coordinated {
namespace {

constexpr double kFull = std::numeric_limits<double>::infinity();

// Returns the node of every slot, with the slots in the order of nodes.
Part nodes_of_slots(const Target& target) {
  Part nodes;
  for (int k = 0; k < target.nodes; ++k)
    nodes.insert(nodes.end(), static_cast<std::size_t>(target.capacity[k]), k);
  return nodes;
}

}  // namespace

Part packed_start(const Graph& graph, const Target& target) {
  Part part = nodes_of_slots(target);
  part.resize(static_cast<std::size_t>(graph.vertices));
  return part;
}

Part scatter_start(const Graph& graph, const Target& target) {
  Part part;
  const auto n = static_cast<std::size_t>(graph.vertices);
  part.reserve(n);
  for (int turn = 0; part.size() < n; ++turn) {
    for (int k = 0; k < target.nodes && part.size() < n; ++k) {
      if (turn < target.capacity[k]) part.push_back(k);
    }
  }
  return part;
}

namespace {

// The generator of seed 1 takes longer to set up than a small mapping takes, so its first numbers
// are kept.
class SeedOne {
 public:
  std::uint64_t next() {
    if (at_ < first().size()) return first()[at_++];
    if (!random_) {
      random_.emplace(1);
      random_->discard(first().size());
    }
    return (*random_)();
  }

 private:
  using First = std::array<std::uint64_t, 256>;
  static const First& first() {
    static const First numbers = [] {
      std::mt19937_64 random(1);
      First list{};
      for (std::uint64_t& number : list) number = random();
      return list;
    }();
    return numbers;
  }
  std::size_t at_ = 0;
  std::optional<std::mt19937_64> random_;
};

}  // namespace

Part random_start(const Graph& graph, const Target& target) {
  SeedOne random;
  Part part = nodes_of_slots(target);
  for (std::size_t i = part.size(); i > 1; --i) std::swap(part[i - 1], part[random.next() % i]);
  part.resize(static_cast<std::size_t>(graph.vertices));
  return part;
}

Part balance_start(const Graph& graph, const Target& target) {
  struct Rank {
    double strength;
    int rank;
  };
  const auto n = static_cast<std::size_t>(graph.vertices);
  std::vector<Rank> order;
  order.reserve(n);
  for (const double strength : graph.strength)
    order.push_back({strength, static_cast<int>(order.size())});
  std::sort(order.begin(), order.end(), [](const Rank& a, const Rank& b) {
    return a.strength != b.strength ? a.strength > b.strength : a.rank < b.rank;
  });
  std::vector<int> room = target.capacity;
  std::vector<double> load(room.size()), level(room.size());  // infinite once a node is full
  for (std::size_t k = 0; k < room.size(); ++k) level[k] = room[k] > 0 ? 0 : kFull;
  Part part(n);
  for (const Rank& next : order) {
    std::size_t best = 0;
    double least = level[0];
    for (std::size_t k = 1; k < level.size(); ++k) {
      best = level[k] < least ? k : best;
      least = std::min(least, level[k]);
    }
    part[next.rank] = static_cast<int>(best);
    load[best] += next.strength;
    level[best] = --room[best] > 0 ? load[best] * target.per_byte[best] : kFull;
  }
  return part;
}

namespace {

struct Pair {
  double bytes;
  int a, b;
};

// Orders by descending bytes, then by rank.
bool comes_first(const Pair& x, const Pair& y) {
  if (x.bytes != y.bytes) return x.bytes > y.bytes;
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

// Returns the pairs that place a rank, in the order of the sorted list of all pairs. Both ranks of
// a pair have a node once the pair was handled. The first pair of a rank therefore places the rank,
// and the list needs at most one pair for each rank.
std::vector<Pair> placing_pairs(std::span<const Row> rows) {
  std::vector<Pair> pairs;
  pairs.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int rank = static_cast<int>(i), peer = rows[i].heaviest;
    if (peer >= 0) pairs.push_back({rows[i].most, std::min(rank, peer), std::max(rank, peer)});
  }
  std::sort(pairs.begin(), pairs.end(), comes_first);
  return pairs;
}

class Assignment {
 public:
  Assignment(int ranks, const Target& target, std::span<const int> previous, PairReading reading)
      : previous_(previous),
        reading_(reading),
        free_slots_(target.capacity),
        part_(static_cast<std::size_t>(ranks), -1) {}

  bool has(int rank) const { return part_[rank] >= 0; }

  void place_pair(const Pair& pair) {
    if (has(pair.a) && has(pair.b)) return;
    if (has(pair.a)) return join(pair.b, pair.a);
    if (has(pair.b)) return join(pair.a, pair.b);
    const int first = previous(pair.a), second = previous(pair.b);
    if (reading_ == PairReading::kLiteral && can_stay(first, second)) {
      place(pair.a, first);
      place(pair.b, second);
      return;
    }
    int node = -1;
    if (reading_ == PairReading::kAuthors && free_slots(first) > 0) node = first;
    if (reading_ == PairReading::kTogether && first == second && free_slots(first) >= 2)
      node = first;
    place(pair.a, node >= 0 ? node : next_node(2));
    place_near(pair.b, part_[pair.a]);
  }

  // A rank without traffic stays on its previous node if the node has room.
  void place_alone(int rank) { place_near(rank, previous(rank)); }

  Part take() { return std::move(part_); }

 private:
  int free_slots(int node) const { return node < 0 ? 0 : free_slots_[node]; }
  int previous(int rank) const { return previous_.empty() ? -1 : previous_[rank]; }
  bool can_stay(int first, int second) const {
    return first == second ? free_slots(first) >= 2
                           : free_slots(first) > 0 && free_slots(second) > 0;
  }
  void place(int rank, int node) {
    part_[rank] = node;
    --free_slots_[node];
  }
  void place_near(int rank, int node) { place(rank, free_slots(node) > 0 ? node : next_node(1)); }
  void join(int rank, int placed) {
    const bool stays = reading_ == PairReading::kLiteral && free_slots(previous(rank)) > 0;
    place_near(rank, stays ? previous(rank) : part_[placed]);
  }
  // Line 11: returns the next node, round-robin, with room for `wanted` ranks. If no node has that
  // room, returns the next node with room for one rank.
  int next_node(int wanted) {
    const int n = static_cast<int>(free_slots_.size());
    for (; wanted > 0; --wanted) {
      for (int step = 0; step < n; ++step) {
        const int node = (turn_ + step) % n;
        if (free_slots(node) < wanted) continue;
        turn_ = (node + 1) % n;
        return node;
      }
    }
    return -1;
  }

  std::span<const int> previous_;
  PairReading reading_;
  std::vector<int> free_slots_;
  Part part_;
  int turn_ = 0;
};

}  // namespace

Part ondeloc_start(std::span<const Row> rows, const Target& target, std::span<const int> previous,
                   PairReading reading) {
  const int ranks = static_cast<int>(rows.size());
  Assignment at(ranks, target, previous, reading);
  for (const Pair& pair : placing_pairs(rows)) at.place_pair(pair);
  for (int rank = 0; rank < ranks; ++rank)
    if (!at.has(rank)) at.place_alone(rank);
  return at.take();
}

}  // namespace ondeloc::coordinated
