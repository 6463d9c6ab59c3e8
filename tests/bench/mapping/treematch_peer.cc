// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/bench/machine.h"
#include "tests/bench/mapping/peers.h"

namespace ondeloc::bench {
namespace {

using Groups = std::vector<std::vector<int>>;  // ranks
using Square = std::vector<double>;

// Seeds each group with the heaviest group that is left, and adds the group with the most traffic
// to those in it.
Groups join(const Groups& parts, const Square& traffic, std::size_t size) {
  const std::size_t n = parts.size();
  std::vector<char> used(n, 0);
  std::vector<double> strength(n, 0);
  for (std::size_t at = 0; at < n * n; ++at) strength[at / n] += traffic[at];
  Groups joined;
  for (std::size_t left = n; left > 0;) {
    std::vector<double> affinity = strength;
    joined.emplace_back();
    for (std::size_t k = 0; k < size && left > 0; ++k, --left) {
      std::size_t best = n;
      for (std::size_t p = 0; p < n; ++p)
        if (used[p] == 0 && (best == n || affinity[p] > affinity[best])) best = p;
      if (k == 0) std::fill(affinity.begin(), affinity.end(), 0);
      used[best] = 1;
      joined.back().insert(joined.back().end(), parts[best].begin(), parts[best].end());
      for (std::size_t p = 0; p < n; ++p) affinity[p] += traffic[best * n + p];
    }
  }
  return joined;
}

Square traffic_between(const Groups& groups, const Traffic& traffic) {
  const std::size_t n = groups.size();
  std::vector<std::size_t> group_of(static_cast<std::size_t>(traffic.ranks()));
  for (std::size_t g = 0; g < n; ++g)
    for (const int rank : groups[g]) group_of[rank] = g;
  Square sums(n * n, 0);
  for (int i = 0; i < traffic.ranks(); ++i)
    for (const Traffic::Edge& edge : traffic.edges(i))
      if (group_of[i] != group_of[edge.peer])
        sums[group_of[i] * n + group_of[edge.peer]] += edge.bytes;
  return sums;
}

}  // namespace

PeerResult treematch(const Problem& problem) {
  const std::uint64_t begin = cpu_ns();
  const Shape& shape = problem.shape;
  Groups groups;
  for (int i = 0; i < problem.traffic.ranks(); ++i) groups.push_back({i});
  const int cores = static_cast<int>(problem.slots.size()) / shape.leaves();
  for (const int size : {cores, shape.llcs, shape.nodes, shape.packages})
    groups = join(groups, traffic_between(groups, problem.traffic), static_cast<std::size_t>(size));
  Mapping mapping;
  std::vector<SlotIndex> slot_of(static_cast<std::size_t>(problem.traffic.ranks()));
  int slot = 0;
  for (const auto& group : groups)
    for (const int rank : group) slot_of[rank] = SlotIndex(slot++);
  for (const SlotIndex own : slot_of) mapping.push_back(own);
  return {std::move(mapping), 1e-9 * static_cast<double>(cpu_ns() - begin)};
}

}  // namespace ondeloc::bench
