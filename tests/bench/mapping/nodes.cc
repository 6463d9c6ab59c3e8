// SPDX-License-Identifier: Apache-2.0
// mapping_nodes [--smoke | --seeds N | --ranks N]: compares the distributions over compute nodes
// that `ondeloc place` finds with those of Scotch and, in a build with KaHIP, of KaHIP (both on a
// complete graph of nodes), block and cyclic, on recorded and generated inputs, on 2, 4 and 8
// nodes. The cost is that of the network (place/network.h), and Scotch and KaHIP get the amounts of
// its model. A peer dominates if its cost is below 0.99 of that of coordinated:30, the default of
// `ondeloc place`. Its quick setting `coordinated` is compared with Scotch by CPU time: the least
// of some turns, of Scotch as a program calls it and with one thread. The costs depend only on
// versions, the times also on the machine. With --smoke few inputs, and the program fails if a peer
// dominates; with --seeds the inputs that are drawn by chance, of 24, 48 and 96 ranks, N times; and
// with --ranks the generated inputs of N ranks only.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
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

constexpr int kQuick = 1, kThorough = 30;  // efforts
constexpr int kTurns = 3;

struct Totals {
  int compared = 0, dominated = 0, quick_dominated = 0;
  int slower = 0;                           // cases in which Scotch takes less time than `quick`
  double least = 1;                         // cost of a peer over ours
  double longest = 0;                       // time of `quick` over Scotch's
  double quick = 0, thorough = 0;           // seconds of CPU
  double scotch = 0, alone = 0, kahip = 0;  // alone: Scotch with one thread
};

// A distribution and the CPU time that it took.
struct Placed {
  NodeOfRank layout;
  double seconds = 0;
};

Placed place(const Network& network, const Traffic& traffic, int effort, int turns) {
  Placed placed{{}, std::numeric_limits<double>::infinity()};
  for (int turn = 0; turn < turns; ++turn) {
    const std::uint64_t begin = cpu_ns();
    placed.layout = *placed_layout(network, traffic, effort);
    placed.seconds = std::min(placed.seconds, 1e-9 * static_cast<double>(cpu_ns() - begin));
  }
  return placed;
}

std::optional<PeerResult> quickest_scotch(const Problem& problem, Threads threads) {
  auto best = scotch(problem, threads);
  for (int turn = 1; best && turn < kTurns; ++turn)
    if (const auto again = scotch(problem, threads))
      best->seconds = std::min(best->seconds, again->seconds);
  return best;
}

// A flat problem whose nodes are those of the network, for the peer.
Problem problem_of(const CommMatrix& matrix, const Network& network, int nodes) {
  Problem problem(matrix, {fmt::format("{} nodes", nodes), nodes, 1, 1});
  problem.machine = network.machine;
  problem.slots = network.slots;
  problem.model = network.model;
  return problem;
}

void add_times(const Placed& quick, const Placed& thorough, const PeerResult& called,
               const PeerResult& alone, Totals& totals) {
  totals.quick += quick.seconds;
  totals.thorough += thorough.seconds;
  totals.scotch += called.seconds;
  totals.alone += alone.seconds;
  totals.slower += quick.seconds > called.seconds ? 1 : 0;
  totals.longest = std::max(totals.longest, quick.seconds / called.seconds);
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
  const Problem problem = problem_of(input.matrix, network, nodes);
  const auto called = quickest_scotch(problem, Threads::kAsCalled);
  const auto alone = quickest_scotch(problem, Threads::kOne);
  if (!called || !alone) return;
  const Placed quick = place(network, traffic, kQuick, kTurns);
  const Placed thorough = place(network, traffic, kThorough, 1);
  add_times(quick, thorough, *called, *alone, totals);
  const double ours = cost(thorough.layout), quickly = cost(quick.layout);
  std::vector<NodeOfRank> peers = {layout_of(network, called->mapping), block_layout(counts),
                                   cyclic_layout(counts)};
#ifdef ONDELOC_BENCH_KAHIP
  const auto by_kahip = kahip(problem);
  totals.kahip += by_kahip->seconds;
  peers.push_back(layout_of(network, by_kahip->mapping));
#endif
  ++totals.compared;
  std::string line =
      fmt::format("{:<16}{:>2} nodes {:>10.3e} | {:6.3f} {:5.2f}", input.name, nodes, ours,
                  ours > 0 ? quickly / ours : 1, quick.seconds / called->seconds);
  bool is_dominated = false, is_quick_dominated = false;
  for (const NodeOfRank& peer : peers) {
    const double ratio = ours > 0 ? cost(peer) / ours : 1;
    is_dominated = is_dominated || ratio < 0.99;
    is_quick_dominated = is_quick_dominated || cost(peer) < 0.99 * quickly;
    totals.least = std::min(totals.least, ratio);
    line += fmt::format(" | {:6.3f}{}", ratio, ratio < 0.99 ? "!" : " ");
  }
  totals.dominated += is_dominated ? 1 : 0;
  totals.quick_dominated += is_quick_dominated ? 1 : 0;
  fmt::print("{}\n", line);
}

struct Wanted {
  bool is_smoke = false;
  unsigned seeds = 0;
  int ranks = 0;
};

std::vector<Input> inputs_for(const Wanted& wanted) {
  if (wanted.is_smoke) return made_inputs(16);
  if (wanted.ranks > 0) return made_inputs(wanted.ranks);
  std::vector<Input> inputs;
  if (wanted.seeds == 0) inputs = recorded_inputs();
  if (wanted.seeds == 0)
    for (Input& input : made_inputs(64)) inputs.push_back(std::move(input));
  for (unsigned seed = 1; seed <= wanted.seeds; ++seed)
    for (const int ranks : {24, 48, 96})
      for (Input& input : drawn_inputs(ranks, seed)) inputs.push_back(std::move(input));
  return inputs;
}

Wanted parse(int argc, char** argv) {
  Wanted wanted;
  wanted.is_smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  if (argc > 2 && std::strcmp(argv[1], "--seeds") == 0)
    wanted.seeds = static_cast<unsigned>(std::atoi(argv[2]));
  if (argc > 2 && std::strcmp(argv[1], "--ranks") == 0) wanted.ranks = std::atoi(argv[2]);
  return wanted;
}

void print_totals(const Totals& totals) {
  fmt::print(
      "{} cases; coordinated:30: dominated {}, least cost of a peer over ours {:.4f}; coordinated: "
      "dominated {}\n",
      totals.compared, totals.dominated, totals.least, totals.quick_dominated);
  fmt::print(
      "CPU time of coordinated over Scotch's: {:.2f} as called ({:.2f} at most, above 1 in {} "
      "cases), {:.1f} with one thread; of coordinated:30: {:.1f} and {:.0f}\n",
      totals.quick / totals.scotch, totals.longest, totals.slower, totals.quick / totals.alone,
      totals.thorough / totals.scotch, totals.thorough / totals.alone);
  if (totals.kahip > 0)
    fmt::print("CPU time over KaHIP's: coordinated {:.4f}, coordinated:30 {:.3f}\n",
               totals.quick / totals.kahip, totals.thorough / totals.kahip);
}

}  // namespace

int main(int argc, char** argv) {
  const Wanted wanted = parse(argc, argv);
  fmt::print(
      "predicted seconds of coordinated:30 | of coordinated: cost / that, time / Scotch's as "
      "called | {}, block, cyclic{}: cost / that of coordinated:30, ! if it dominates\n",
      scotch_version(), kKahip);
  Totals totals;
  for (const Input& input : inputs_for(wanted))
    for (const int nodes : {2, 4, 8}) compare(input, nodes, totals);
  print_totals(totals);
  return totals.compared == 0 || (wanted.is_smoke && totals.dominated > 0) ? 1 : 0;
}
