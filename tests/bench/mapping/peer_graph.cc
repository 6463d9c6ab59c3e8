// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/mapping/peer_graph.h"

#include <time.h>

namespace ondeloc::bench {
namespace {

// Moves a rank out of an overfull node into a node with room: the rank that is cheapest to move.
void repair(const Traffic& traffic, std::vector<int>& node, std::vector<int>& room) {
  auto bytes_to = [&](int rank, int where) {
    double bytes = 0;
    for (const Traffic::Edge& edge : traffic.edges(rank))
      bytes += node[edge.peer] == where ? edge.bytes : 0;
    return bytes;
  };
  for (;;) {
    double best = -1e300;
    int who = -1, where = -1;
    for (int i = 0; i < traffic.ranks(); ++i) {
      const int from = node[i];
      if (room[from] >= 0) continue;
      for (std::size_t to = 0; to < room.size(); ++to) {
        if (room[to] <= 0) continue;
        const double gain = bytes_to(i, static_cast<int>(to)) - bytes_to(i, from);
        if (gain > best) best = gain, who = i, where = static_cast<int>(to);
      }
    }
    if (who < 0) return;
    ++room[node[who]];
    --room[where];
    node[who] = where;
  }
}

}  // namespace

Mapping to_mapping(const Problem& problem, const Traffic& traffic, std::vector<int> leaf) {
  std::vector<std::vector<SlotIndex>> free(problem.machine.llcs.size());
  for (std::size_t s = problem.slots.size(); s-- > 0;)
    free[problem.slots[s].seat.llc.value].emplace_back(static_cast<int>(s));
  std::vector<int> room;
  for (const auto& slots : free) room.push_back(static_cast<int>(slots.size()));
  for (const int k : leaf) --room[k];
  repair(traffic, leaf, room);
  Mapping mapping;
  for (const int k : leaf) {
    mapping.push_back(free[k].back());
    free[k].pop_back();
  }
  return mapping;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace ondeloc::bench
