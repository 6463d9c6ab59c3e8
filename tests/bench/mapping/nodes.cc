// SPDX-License-Identifier: Apache-2.0
// mapping_nodes [--smoke]: compares the distributions over compute nodes that `ondeloc place` finds
// with those of Scotch (a complete graph of nodes), block and cyclic, on recorded and generated
// inputs, on 2, 4 and 8 nodes. The cost is that of the network (place/network.h), and Scotch gets
// the amounts of its model. A peer dominates if its cost is below 0.99 of ours. The numbers depend
// only on versions; the last one, our CPU time over Scotch's, also depends on the machine. With
// --smoke few inputs, and the program fails if a peer dominates.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/place/layouts.h"
#include "tests/bench/machine.h"
#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

struct Totals {
  int compared = 0, dominated = 0;
  double least = 1;             // cost of a peer over ours
  double ours = 0, theirs = 0;  // seconds of CPU
};

// A flat problem whose nodes are those of the network, for the peer.
Problem problem_of(const CommMatrix& matrix, const Network& network, int nodes) {
  Problem problem(matrix, {fmt::format("{} nodes", nodes), nodes, 1, 1});
  problem.machine = network.machine;
  problem.slots = network.slots;
  problem.model = network.model;
  return problem;
}

NodeOfRank layout_of(const Network& network, const Mapping& mapping) {
  NodeOfRank layout;
  for (const SlotIndex slot : mapping) layout.push_back(network.slots[slot].node.value);
  return layout;
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
  const auto scotched = scotch(problem_of(input.matrix, network, nodes));
  if (!placed || !scotched) return;
  totals.theirs += scotched->seconds;
  const double ours = cost(*placed);
  std::string line = fmt::format("{:<16}{:>2} nodes {:>10.3e}", input.name, nodes, ours);
  ++totals.compared;
  for (const NodeOfRank& peer :
       {layout_of(network, scotched->mapping), block_layout(counts), cyclic_layout(counts)}) {
    const double ratio = ours > 0 ? cost(peer) / ours : 1;
    totals.dominated += ratio < 0.99 ? 1 : 0;
    totals.least = std::min(totals.least, ratio);
    line += fmt::format(" | {:6.3f}{}", ratio, ratio < 0.99 ? "!" : " ");
  }
  fmt::print("{}\n", line);
}

std::vector<Input> inputs_for(bool is_smoke) {
  if (is_smoke) return made_inputs(16);
  std::vector<Input> inputs = recorded_inputs();
  for (Input& input : made_inputs(64)) inputs.push_back(std::move(input));
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  fmt::print("ours: predicted seconds; {}, block, cyclic: cost / ours, ! if it dominates\n",
             scotch_version());
  Totals totals;
  for (const Input& input : inputs_for(is_smoke))
    for (const int nodes : {2, 4, 8}) compare(input, nodes, totals);
  fmt::print(
      "{} cases, dominated {}, least cost of a peer over ours {:.4f}; CPU time over "
      "Scotch's {:.1f}\n",
      totals.compared, totals.dominated, totals.least, totals.ours / totals.theirs);
  return totals.compared == 0 || (is_smoke && totals.dominated > 0) ? 1 : 0;
}
