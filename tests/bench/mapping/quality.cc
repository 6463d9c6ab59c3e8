// SPDX-License-Identifier: Apache-2.0
// mapping_quality [--smoke] [--seeds N] [ALGORITHM]: compares coordinated, or the named algorithm,
// with Scotch, simulated annealing, TreeMatch-style locality, packed and scatter on recorded and
// generated inputs, on 2, 4 and 8 NUMA nodes and on three machines with several last-level caches
// in a node. A peer dominates if its cost is below 0.99 of ours; on machines without such nodes
// also if its remote share is below 0.99 of ours and neither its peak load nor the time of its
// busiest rank is larger. (That time is in the cost: a mapping may give up some share for it.) With
// --seeds the random inputs are drawn N times: an algorithm that was tuned on one drawing shows it
// on the others. The numbers depend only on versions and seeds, which are printed; the last one,
// the CPU time of all our calls over that of all of annealing, also depends on the machine. With
// --smoke the program fails if a peer dominates, or if packed or scatter costs less.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mapcore/base/text.h"
#include "tests/bench/machine.h"
#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

constexpr unsigned kSeed = 1;
constexpr std::uint64_t kMostSeeds = 1000;
constexpr double kRounding = 1e-9;

bool dominates(const Cost& peer, const Cost& ours, bool is_tree) {
  const bool is_nearer = peer.remote_share.value_or(0) < 0.99 * ours.remote_share.value_or(0);
  const bool is_no_worse =
      peer.peak_load <= ours.peak_load && peer.busiest <= ours.busiest * (1 + kRounding);
  return (!is_tree && is_nearer && is_no_worse) || peer.total < 0.99 * ours.total;
}

std::string cell(const Cost& peer, const Cost& ours, bool is_tree) {
  return fmt::format("{:6.3f} {:5.3f} {:5.2f}{}", ours.total > 0 ? peer.total / ours.total : 1,
                     peer.remote_share.value_or(0), peer.peak_load,
                     dominates(peer, ours, is_tree) ? "!" : " ");
}

struct Totals {
  int compared = 0, dominating = 0, by_annealing = 0, by_scotch = 0;
  int cheaper_starts = 0;          // cases in which packed or scatter costs less
  double worst = 1;                // the least cost of annealing over ours
  double ours = 0, annealing = 0;  // seconds
};

void compare(const char* algorithm, const Input& input, const Shape& shape, long moves,
             Totals& totals) {
  const Problem problem(input.matrix, shape);
  const MapRequest request = problem.request();
  auto cost = [&](const Mapping& mapping) {
    return evaluate(problem.model, problem.slots, problem.traffic, mapping);
  };
  const std::uint64_t begin = cpu_ns();
  const Mapping mapping = *compute_mapping(algorithm, request);
  totals.ours += 1e-9 * static_cast<double>(cpu_ns() - begin);
  const Cost ours = cost(mapping);
  const PeerResult annealed = anneal(request, moves, kSeed);
  totals.annealing += annealed.seconds;
  const auto theirs = scotch(problem);
  const Cost peers[] = {theirs ? cost(theirs->mapping) : ours, cost(annealed.mapping),
                        cost(treematch(problem).mapping), cost(*compute_mapping("packed", request)),
                        cost(*compute_mapping("scatter", request))};
  std::string line = fmt::format("{:<16}{:<8} {:5.3f} {:5.2f}", input.name, shape.name,
                                 ours.remote_share.value_or(0), ours.peak_load);
  ++totals.compared;
  for (const Cost& peer : peers) {
    line += " |" + cell(peer, ours, shape.is_tree());
    totals.dominating += dominates(peer, ours, shape.is_tree()) ? 1 : 0;
  }
  const double start = std::min(peers[3].total, peers[4].total);
  totals.cheaper_starts += start < ours.total * (1 - 1e-9) ? 1 : 0;
  totals.by_scotch += dominates(peers[0], ours, shape.is_tree()) ? 1 : 0;
  totals.by_annealing += dominates(peers[1], ours, shape.is_tree()) ? 1 : 0;
  if (ours.total > 0) totals.worst = std::min(totals.worst, peers[1].total / ours.total);
  fmt::print("{}\n", line);
}

void print_totals(const char* machines, const Totals& totals) {
  fmt::print(
      "{}: {} cases, dominated by a peer {}, by annealing in {}, by Scotch in {}; least cost of "
      "annealing over ours {:.4f}; CPU time over annealing's {:.4f}\n",
      machines, totals.compared, totals.dominating, totals.by_annealing, totals.by_scotch,
      totals.worst, totals.ours / totals.annealing);
}

// coordinated may be dominated by annealing alone, seldom and by little, and costs no more than its
// starts.
bool keeps_promise(const Totals& totals) {
  constexpr double kMostCases = 0.05, kMostCost = 0.025;
  return totals.dominating == totals.by_annealing && totals.cheaper_starts == 0 &&
         totals.by_annealing <= kMostCases * totals.compared && totals.worst >= 1 - kMostCost;
}

struct Arguments {
  bool smoke = false;
  unsigned seeds = 1;
  const char* algorithm = "coordinated";
};

// The error message for a bad argument.
std::string read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) {
      arguments.smoke = true;
    } else if (std::strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
      const auto seeds = parse_unsigned(argv[++i], kMostSeeds);
      if (!seeds || *seeds == 0) return fmt::format("--seeds is a number from 1 to {}", kMostSeeds);
      arguments.seeds = static_cast<unsigned>(*seeds);
    } else {
      arguments.algorithm = argv[i];
    }
  }
  const auto known = find_algorithm(arguments.algorithm);
  return known ? std::string() : known.error().message();
}

std::vector<Input> inputs_for(const Arguments& arguments) {
  std::vector<Input> inputs = arguments.smoke ? made_inputs(16) : recorded_inputs();
  auto add = [&](std::vector<Input> more) {
    for (Input& input : more) inputs.push_back(std::move(input));
  };
  for (const int ranks : arguments.smoke ? std::vector<int>{} : std::vector{32, 64, 128}) {
    add(made_inputs(ranks));
    for (unsigned seed = 1; seed < arguments.seeds; ++seed) add(drawn_inputs(ranks, seed));
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (const std::string wrong = read(argc, argv, arguments); !wrong.empty()) {
    fmt::print(stderr, "mapping_quality: {}\n", wrong);
    return 1;
  }
  const char* algorithm = arguments.algorithm;
  const long moves = arguments.smoke ? 2000 : 1000000;
  fmt::print(
      "{} against {}, simulated annealing ({} moves, seed {}), TreeMatch-style locality, packed, "
      "scatter\n",
      algorithm, scotch_version(), moves, kSeed);
  fmt::print(
      "ours: remote share, peak load; peers: cost / ours, remote share, peak load, ! where "
      "it dominates\n");
  Totals flat, tree;
  const std::vector<Input> inputs = inputs_for(arguments);
  for (const Input& input : inputs)
    for (const Shape& shape : flat_shapes()) compare(algorithm, input, shape, moves, flat);
  print_totals("NUMA nodes of one cache", flat);
  for (const Input& input : inputs)
    for (const Shape& shape : tree_shapes()) compare(algorithm, input, shape, moves, tree);
  print_totals("nodes of several caches", tree);
  if (flat.compared == 0 || tree.compared == 0) return 1;
  if (!arguments.smoke || (keeps_promise(flat) && keeps_promise(tree))) return 0;
  fmt::print(stderr, "mapping_quality: peers dominate more than they may\n");
  return 1;
}
