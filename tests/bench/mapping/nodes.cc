// SPDX-License-Identifier: Apache-2.0
// mapping_nodes [--smoke | --seeds N]: compares the distributions over compute nodes that `ondeloc
// place` finds with those of Scotch and, in a build with KaHIP, of KaHIP (both on a complete graph
// of nodes), block and cyclic, on recorded and generated inputs, on 2, 4 and 8 nodes. The cost is
// that of the network (place/network.h), and Scotch and KaHIP get the amounts of its model. A peer
// dominates if its cost is below 0.99 of ours. The numbers depend only on versions; the last ones,
// our CPU time over Scotch's as a program calls it and with one thread, also depend on the machine.
// With --smoke few inputs, and the program fails if a peer dominates; with --seeds the inputs that
// are drawn by chance, of 24, 48 and 96 ranks, N times.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/place/placed.h"
#include "tests/bench/machine.h"
#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

#ifdef ONDELOC_BENCH_KAHIP
constexpr const char* kKahip = ", KaHIP";
#else
constexpr const char* kKahip = "";
#endif

struct Totals {
  int compared = 0, dominated = 0;
  double least = 1;                        // cost of a peer over ours
  double ours = 0, theirs = 0, alone = 0;  // seconds of CPU; alone: theirs with one thread
  double kahip = 0;
};

// A flat problem whose nodes are those of the network, for the peer.
Problem problem_of(const CommMatrix& matrix, const Network& network, int nodes) {
  Problem problem(matrix, {fmt::format("{} nodes", nodes), nodes, 1, 1});
  problem.machine = network.machine;
  problem.slots = network.slots;
  problem.model = network.model;
  return problem;
}

void compare(const Input& input, int nodes, Totals& totals) {
  const int ranks = input.matrix.ranks;
  const std::vector<int> counts =
      even_counts(std::vector<int>(static_cast<std::size_t>(nodes), ranks), ranks);
  const Network network = make_network(counts, Adapter{});
  const Traffic traffic(input.matrix);
  const auto cost = [&](const NodeOfRank& layout) {
    return cost_of_layout(network, traffic, layout).seconds;
  };
  const std::uint64_t begin = cpu_ns();
  const auto placed = placed_layout(network, traffic);
  totals.ours += 1e-9 * static_cast<double>(cpu_ns() - begin);
  const Problem problem = problem_of(input.matrix, network, nodes);
  const auto scotched = scotch(problem), alone = scotch(problem, Threads::kOne);
  if (!placed || !scotched || !alone) return;
  totals.theirs += scotched->seconds;
  totals.alone += alone->seconds;
  const double ours = cost(*placed);
  std::string line = fmt::format("{:<16}{:>2} nodes {:>10.3e}", input.name, nodes, ours);
  ++totals.compared;
  std::vector<NodeOfRank> peers = {layout_of(network, scotched->mapping), block_layout(counts),
                                   cyclic_layout(counts)};
#ifdef ONDELOC_BENCH_KAHIP
  const auto by_kahip = kahip(problem);
  totals.kahip += by_kahip->seconds;
  peers.push_back(layout_of(network, by_kahip->mapping));
#endif
  for (const NodeOfRank& peer : peers) {
    const double ratio = ours > 0 ? cost(peer) / ours : 1;
    totals.dominated += ratio < 0.99 ? 1 : 0;
    totals.least = std::min(totals.least, ratio);
    line += fmt::format(" | {:6.3f}{}", ratio, ratio < 0.99 ? "!" : " ");
  }
  fmt::print("{}\n", line);
}

std::vector<Input> inputs_for(bool is_smoke, unsigned seeds) {
  if (is_smoke) return made_inputs(16);
  std::vector<Input> inputs;
  if (seeds == 0) inputs = recorded_inputs();
  if (seeds == 0)
    for (Input& input : made_inputs(64)) inputs.push_back(std::move(input));
  for (unsigned seed = 1; seed <= seeds; ++seed)
    for (const int ranks : {24, 48, 96})
      for (Input& input : drawn_inputs(ranks, seed)) inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  const bool is_drawn = argc > 2 && std::strcmp(argv[1], "--seeds") == 0;
  const unsigned seeds = is_drawn ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  fmt::print("ours: predicted seconds; {}, block, cyclic{}: cost / ours, ! if it dominates\n",
             scotch_version(), kKahip);
  Totals totals;
  for (const Input& input : inputs_for(is_smoke, seeds))
    for (const int nodes : {2, 4, 8}) compare(input, nodes, totals);
  fmt::print(
      "{} cases, dominated {}, least cost of a peer over ours {:.4f}; CPU time over "
      "Scotch's {:.1f} as called, {:.1f} with one thread\n",
      totals.compared, totals.dominated, totals.least, totals.ours / totals.theirs,
      totals.ours / totals.alone);
  if (totals.kahip > 0) fmt::print("CPU time over KaHIP's {:.3f}\n", totals.ours / totals.kahip);
  return totals.compared == 0 || (is_smoke && totals.dominated > 0) ? 1 : 0;
}
