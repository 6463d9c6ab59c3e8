// SPDX-License-Identifier: Apache-2.0
// mapping_quality [--smoke] [--seeds N] [ALGORITHM]: coordinated, or what is named, against Scotch,
// simulated annealing, packed and scatter on recorded and made inputs, on 2, 4 and 8 NUMA nodes. A
// peer dominates when its peak load is no larger and its remote share below 0.99 of ours, or its
// cost below 0.99 of ours. With --seeds the made inputs that are drawn are drawn N times: what was
// tuned on one drawing shows on the others. Prints, never fails: the numbers depend on nothing but
// versions and seeds, which are printed, but for the last one: CPU time of all our calls over that
// of all of annealing.
#include <fmt/format.h>

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

bool dominates(const Cost& peer, const Cost& ours) {
  const bool nearer = peer.remote_share.value_or(0) < 0.99 * ours.remote_share.value_or(0);
  return (peer.peak_load <= ours.peak_load && nearer) || peer.total < 0.99 * ours.total;
}

std::string cell(const Cost& peer, const Cost& ours) {
  return fmt::format("{:6.3f} {:5.3f} {:5.2f}{}", ours.total > 0 ? peer.total / ours.total : 1,
                     peer.remote_share.value_or(0), peer.peak_load,
                     dominates(peer, ours) ? "!" : " ");
}

struct Totals {
  int compared = 0, dominating = 0;
  double ours = 0, annealing = 0;  // seconds
};

void compare(const char* algorithm, const Input& input, int nodes, long moves, Totals& totals) {
  const Problem problem(input.matrix, nodes);
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
  const auto theirs = scotch(request);
  const Cost peers[] = {theirs ? cost(theirs->mapping) : ours, cost(annealed.mapping),
                        cost(*compute_mapping("packed", request)),
                        cost(*compute_mapping("scatter", request))};
  std::string line = fmt::format("{:<16}{} {:5.3f} {:5.2f}", input.name, nodes,
                                 ours.remote_share.value_or(0), ours.peak_load);
  ++totals.compared;
  for (const Cost& peer : peers) {
    line += " |" + cell(peer, ours);
    totals.dominating += dominates(peer, ours) ? 1 : 0;
  }
  fmt::print("{}\n", line);
}

struct Arguments {
  bool smoke = false;
  unsigned seeds = 1;
  const char* algorithm = "coordinated";
};

// The sentence for an argument that is none.
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
  fmt::print("{} against {}, simulated annealing ({} moves, seed {}), packed, scatter\n", algorithm,
             scotch_version(), moves, kSeed);
  fmt::print(
      "ours: remote share, peak load; peers: cost / ours, remote share, peak load, ! where "
      "it dominates\n");
  Totals totals;
  for (const Input& input : inputs_for(arguments))
    for (const int nodes : {2, 4, 8}) compare(algorithm, input, nodes, moves, totals);
  fmt::print("{} cases, dominated by a peer: {}; CPU time over annealing's: {:.4f}\n",
             totals.compared, totals.dominating, totals.ours / totals.annealing);
  return totals.compared > 0 ? 0 : 1;
}
