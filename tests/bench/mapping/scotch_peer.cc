// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/bench/mapping/peer_graph.h"
#include "tests/bench/mapping/peers.h"
#if __has_include(<scotch/scotch.h>)
#include <scotch/scotch.h>
#else
#include <scotch.h>
#endif

namespace ondeloc::bench {

std::string scotch_version() {
  int version = 0, release = 0, patch = 0;
  SCOTCH_version(&version, &release, &patch);
  return fmt::format("Scotch {}.{}.{}", version, release, patch);
}

namespace {

// From release 7.0 on the library takes the number of threads that it may use.
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

namespace {

// Every level with more than one child: their number, and the cost of a unit of amount between two
// children, in integers.
void build_arch(const Problem& problem, SCOTCH_Arch& arch) {
  const Shape& shape = problem.shape;
  if (!shape.is_tree()) {
    SCOTCH_archCmplt(&arch, static_cast<SCOTCH_Num>(problem.machine.llcs.size()));
    return;
  }
  std::vector<SCOTCH_Num> sizes, costs;
  const int ranks = problem.traffic.ranks();
  const double nearest = problem.model.amount_cost_between(0, 1, ranks);
  int below = shape.leaves();
  for (const int children : {shape.packages, shape.nodes, shape.llcs}) {
    below /= children;
    if (children < 2) continue;
    sizes.push_back(children);
    const double cost = problem.model.amount_cost_between(0, below, ranks);
    costs.push_back(std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(10 * cost / nearest)));
  }
  SCOTCH_archTleaf(&arch, static_cast<SCOTCH_Num>(sizes.size()), sizes.data(), costs.data());
}

}  // namespace

std::optional<PeerResult> scotch(const Problem& problem, Threads threads) {
  const auto weighed = problem.model.amounts(problem.traffic);
  const Traffic& traffic = weighed ? *weighed : problem.traffic;
  Csr<SCOTCH_Num> csr = to_csr<SCOTCH_Num>(traffic);
  std::vector<SCOTCH_Num> node(csr.begin.size() - 1);
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
  build_arch(problem, arch);
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
  return PeerResult{to_mapping(problem, traffic, {node.begin(), node.end()}), took};
}

}  // namespace ondeloc::bench
