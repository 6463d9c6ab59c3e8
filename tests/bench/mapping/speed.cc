// SPDX-License-Identifier: Apache-2.0
// mapping_speed [--smoke]: time of coordinated and of Scotch's library on the same inputs in one
// run, without a present mapping and with one that needs no change. Scotch as a program calls it,
// which starts a thread for each CPU, and told to use one thread. CPU time of all threads, the
// least of several turns, taken in alternation.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/bench/machine.h"
#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

constexpr double kNone = 1e300;

double time_of(const MapRequest& request, Mapping& mapping) {
  const std::uint64_t begin = cpu_ns();
  mapping = *compute_mapping("coordinated", request);
  return 1e-9 * static_cast<double>(cpu_ns() - begin);
}

double time_of_peer(const MapRequest& request, Threads threads) {
  const auto theirs = scotch(request, threads);
  return theirs ? theirs->seconds : kNone;
}

void compare(const Input& input, int nodes, int turns) {
  Problem problem(input.matrix, nodes);
  double fresh = kNone, kept = kNone, peer = kNone, alone = kNone;
  Mapping mapping, again;
  time_of(problem.request(), mapping);
  for (int turn = 0; turn < turns; ++turn) {
    problem.previous.clear();
    peer = std::min(peer, time_of_peer(problem.request(), Threads::kAsCalled));
    alone = std::min(alone, time_of_peer(problem.request(), Threads::kOne));
    fresh = std::min(fresh, time_of(problem.request(), mapping));
    problem.previous = mapping;
    kept = std::min(kept, time_of(problem.request(), again));
  }
  fmt::print(
      "{:<18} {:>5} {:>8} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>7.2f} {:>7.2f} {:>7.2f} "
      "{:>7.2f}{}\n",
      input.name, nodes, problem.traffic.pairs(), peer * 1e3, alone * 1e3, fresh * 1e3, kept * 1e3,
      fresh / peer, kept / peer, fresh / alone, kept / alone, again == mapping ? "" : " moved");
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  fmt::print("peer: {}, default strategy, archCmpltw; alone: the same with one thread\n",
             scotch_version());
  fmt::print("{:<18} {:>5} {:>8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7}\n", "input",
             "nodes", "pairs", "peer ms", "alone ms", "ours ms", "kept ms", "ours/p", "kept/p",
             "ours/a", "kept/a");
  for (const int ranks : smoke ? std::vector{16} : std::vector{32, 128, 512, 1024}) {
    for (const Input& input : sparse_and_dense(ranks)) {
      for (const int nodes : {2, 4, 8}) compare(input, nodes, smoke ? 2 : ranks > 256 ? 5 : 30);
    }
  }
  return 0;
}
