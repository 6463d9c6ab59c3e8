// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/bench/mapping/peers.h"
#if __has_include(<scotch/scotch.h>)
#include <scotch/scotch.h>
#else
#include <scotch.h>
#endif

namespace ondeloc::bench {
namespace {

// Of all threads: from release 7 on Scotch starts one for each CPU.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Csr {
  std::vector<SCOTCH_Num> begin{0}, peer, weight;
};

// Scotch counts in 32-bit integers: bytes are scaled so that all weights together stay below 2^30.
Csr to_csr(const Traffic& traffic) {
  const double scale = traffic.total() > 5e8 ? 5e8 / traffic.total() : 1;
  Csr csr;
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      csr.peer.push_back(edge.peer);
      csr.weight.push_back(std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(edge.bytes * scale)));
    }
    csr.begin.push_back(static_cast<SCOTCH_Num>(csr.peer.size()));
  }
  return csr;
}

// Moves the rank that is cheapest to move out of an overfull node into a node with room.
void repair(const Traffic& traffic, std::vector<SCOTCH_Num>& node, std::vector<int>& room) {
  auto bytes_to = [&](int rank, SCOTCH_Num where) {
    double bytes = 0;
    for (const Traffic::Edge& edge : traffic.edges(rank))
      bytes += node[static_cast<std::size_t>(edge.peer)] == where ? edge.bytes : 0;
    return bytes;
  };
  for (;;) {
    double best = -1e300;
    int who = -1, where = -1;
    for (int i = 0; i < traffic.ranks(); ++i) {
      const SCOTCH_Num from = node[static_cast<std::size_t>(i)];
      if (room[static_cast<std::size_t>(from)] >= 0) continue;
      for (std::size_t to = 0; to < room.size(); ++to) {
        if (room[to] <= 0) continue;
        const double gain = bytes_to(i, static_cast<SCOTCH_Num>(to)) - bytes_to(i, from);
        if (gain > best) best = gain, who = i, where = static_cast<int>(to);
      }
    }
    if (who < 0) return;
    ++room[static_cast<std::size_t>(node[static_cast<std::size_t>(who)])];
    --room[static_cast<std::size_t>(where)];
    node[static_cast<std::size_t>(who)] = where;
  }
}

Mapping to_mapping(const MapRequest& request, std::vector<SCOTCH_Num>& node) {
  std::vector<std::vector<SlotIndex>> free(request.machine.nodes.size());
  for (std::size_t s = request.slots.size(); s-- > 0;)
    free[static_cast<std::size_t>(request.slots[s].node.value)].emplace_back(static_cast<int>(s));
  std::vector<int> room;
  for (const auto& slots : free) room.push_back(static_cast<int>(slots.size()));
  for (const SCOTCH_Num k : node) --room[static_cast<std::size_t>(k)];
  repair(request.traffic, node, room);
  Mapping mapping;
  for (const SCOTCH_Num k : node) {
    mapping.push_back(free[static_cast<std::size_t>(k)].back());
    free[static_cast<std::size_t>(k)].pop_back();
  }
  return mapping;
}

}  // namespace

std::string scotch_version() {
  int version = 0, release = 0, patch = 0;
  SCOTCH_version(&version, &release, &patch);
  return fmt::format("Scotch {}.{}.{}", version, release, patch);
}

namespace {

// Where the library can be told how many threads it may have (7.0 and later).
#if SCOTCH_VERSION >= 7
class OneThread {
 public:
  explicit OneThread(SCOTCH_Graph& graph) {
    SCOTCH_contextInit(&context_);
    SCOTCH_contextThreadSpawn(&context_, 1, nullptr);
    SCOTCH_contextBindGraph(&context_, &graph, &bound_);
  }
  ~OneThread() {
    SCOTCH_graphExit(&bound_);
    SCOTCH_contextExit(&context_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  SCOTCH_Graph& graph() { return bound_; }

 private:
  SCOTCH_Context context_{};
  SCOTCH_Graph bound_{};
};
#else
class OneThread {
 public:
  explicit OneThread(SCOTCH_Graph& graph) : graph_(graph) {}
  SCOTCH_Graph& graph() { return graph_; }

 private:
  SCOTCH_Graph& graph_;
};
#endif

}  // namespace

std::optional<PeerResult> scotch(const MapRequest& request, Threads threads) {
  Csr csr = to_csr(request.traffic);
  std::vector<SCOTCH_Num> capacity(request.machine.nodes.size()), node(csr.begin.size() - 1);
  for (const Slot& slot : request.slots) ++capacity[static_cast<std::size_t>(slot.node.value)];
  SCOTCH_Graph graph;
  SCOTCH_Arch arch;
  SCOTCH_Strat strategy;
  SCOTCH_randomReset();
  SCOTCH_graphInit(&graph);
  SCOTCH_archInit(&arch);
  SCOTCH_stratInit(&strategy);
  SCOTCH_graphBuild(&graph, 0, static_cast<SCOTCH_Num>(node.size()), csr.begin.data(), nullptr,
                    nullptr, nullptr, static_cast<SCOTCH_Num>(csr.peer.size()), csr.peer.data(),
                    csr.weight.data());
  SCOTCH_archCmpltw(&arch, static_cast<SCOTCH_Num>(capacity.size()), capacity.data());
  std::optional<OneThread> alone;
  if (threads == Threads::kOne) alone.emplace(graph);
  const double begin = cpu_seconds();
  const int rc = SCOTCH_graphMap(alone ? &alone->graph() : &graph, &arch, &strategy, node.data());
  const double took = cpu_seconds() - begin;
  alone.reset();
  SCOTCH_stratExit(&strategy);
  SCOTCH_archExit(&arch);
  SCOTCH_graphExit(&graph);
  if (rc != 0) return std::nullopt;
  return PeerResult{to_mapping(request, node), took};
}

}  // namespace ondeloc::bench
