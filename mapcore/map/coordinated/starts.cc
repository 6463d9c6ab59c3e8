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

// The node of every slot, slots in the order of nodes.
Part nodes_of_slots(const Target& target) {
  Part nodes;
  for (int k = 0; k < target.nodes; ++k)
    nodes.insert(nodes.end(),
                 static_cast<std::size_t>(target.capacity[static_cast<std::size_t>(k)]), k);
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
      if (turn < target.capacity[static_cast<std::size_t>(k)]) part.push_back(k);
    }
  }
  return part;
}

namespace {

// The generator of seed 1 costs more to set up than a small mapping takes: its first numbers are
// kept.
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
    part[static_cast<std::size_t>(next.rank)] = static_cast<int>(best);
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

// Descending bytes, ties by rank.
bool comes_first(const Pair& x, const Pair& y) {
  if (x.bytes != y.bytes) return x.bytes > y.bytes;
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

// Of the sorted list of all pairs those that place a rank. Both ranks of a pair have a node after
// it, so a rank is placed by its first pair and the list needs no more than one pair a rank.
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
  Assignment(int ranks, const Target& target, std::span<const int> previous)
      : previous_(previous),
        room_(target.capacity),
        part_(static_cast<std::size_t>(ranks), -1),
        left_(ranks) {}

  bool has(int rank) const { return node_of(rank) >= 0; }
  int node_of(int rank) const { return part_[static_cast<std::size_t>(rank)]; }
  int left() const { return left_; }
  int room(int node) const { return room_[static_cast<std::size_t>(node)]; }
  int previous(int rank) const {
    return previous_.empty() ? -1 : previous_[static_cast<std::size_t>(rank)];
  }
  void place(int rank, int node) {
    part_[static_cast<std::size_t>(rank)] = node;
    --room_[static_cast<std::size_t>(node)];
    --left_;
  }
  void place_near(int rank, int node) { place(rank, room(node) > 0 ? node : next_node(1)); }
  void place_pair(const Pair& pair) {
    const int here = previous(pair.a);
    const bool stays = here >= 0 && here == previous(pair.b) && room(here) >= 2;
    const int node = stays ? here : next_node(2);
    place(pair.a, node);
    place_near(pair.b, node);
  }
  int next_node(int wanted) {
    const int n = static_cast<int>(room_.size());
    for (; wanted > 0; --wanted) {
      for (int step = 0; step < n; ++step) {
        const int node = (turn_ + step) % n;
        if (room(node) < wanted) continue;
        turn_ = (node + 1) % n;
        return node;
      }
    }
    return -1;
  }
  Part take() { return std::move(part_); }

 private:
  std::span<const int> previous_;
  std::vector<int> room_;
  Part part_;
  int left_;
  int turn_ = 0;
};

}  // namespace

Part ondeloc_start(std::span<const Row> rows, const Target& target, std::span<const int> previous) {
  Assignment at(static_cast<int>(rows.size()), target, previous);
  for (const Pair& pair : placing_pairs(rows)) {
    const bool has_a = at.has(pair.a), has_b = at.has(pair.b);
    if (!has_a && !has_b) {
      at.place_pair(pair);
    } else if (!has_a) {
      at.place_near(pair.a, at.node_of(pair.b));
    } else if (!has_b) {
      at.place_near(pair.b, at.node_of(pair.a));
    }
  }
  for (int rank = 0; rank < static_cast<int>(rows.size()); ++rank) {
    if (at.has(rank)) continue;
    const int before = at.previous(rank);
    at.place(rank, before >= 0 && at.room(before) > 0 ? before : at.next_node(1));
  }
  return at.take();
}

}  // namespace ondeloc::coordinated
